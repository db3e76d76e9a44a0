// @ts-check

/**
 * Makes an element. Texts become text nodes, never markup.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | boolean | ((event: Event) => void)>} [attributes] functions listen, booleans switch
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value)
    else if (typeof value === 'string') made.setAttribute(name, value)
    else made.toggleAttribute(name, value)
  }
  made.append(...children)
  return made
}

/**
 * An element of the page, by its id.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export const byId = (id, kind) => {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`The page has no #${id}.`)
  return found
}

/**
 * Writes a text only if it differs: no work for the browser, and no lost selection.
 *
 * @param {Node} node
 * @param {string} text
 */
export const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text
}

/**
 * Sets the children of an element. Children that are in their place are not touched: they keep focus and scrolling.
 *
 * @param {Element} parent
 * @param {Element[]} wanted
 */
export const arrange = (parent, wanted) => {
  wanted.forEach((child, index) => {
    const there = parent.children[index] ?? null
    if (there !== child) parent.insertBefore(child, there)
  })
  while (parent.children.length > wanted.length) parent.lastElementChild?.remove()
}
