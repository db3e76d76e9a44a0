// @ts-check
import { byId, element, setText } from './element.js'
import { loadedRun } from './nestedRun.js'
import { actor, changed, onChange, state } from './store.js'

/** @import { ConversationView } from './ConversationView.js' */

const button = byId('compare', HTMLButtonElement)
let isOn = false
/** @type {{ id: number, run: ReturnType<typeof loadedRun> } | null} */
let left = null

const render = () => {
  const from = actor()?.from ?? null
  button.hidden = from === null || !state.actors.has(from)
  if (button.hidden) isOn = false
  button.setAttribute('aria-pressed', String(isOn))
  document.body.classList.toggle('comparing', isOn)
}

/**
 * Shows the run that this one was tried again from beside it, with the first difference marked.
 *
 * @param {HTMLElement} place
 * @param {HTMLElement} heading of the run that is shown
 * @param {ConversationView} view
 */
export const compareWith = (place, heading, view) => {
  const from = actor()?.from ?? null
  place.hidden = !isOn || from === null
  heading.hidden = place.hidden
  setText(heading, `This run: ${actor()?.title ?? ''}`)
  if (place.hidden || from === null) {
    markFirst(view.element, null)
    return
  }
  if (left?.id !== from) {
    left = { id: from, run: loadedRun(from, 1) }
    const title = state.actors.get(from)?.title ?? ''
    place.replaceChildren(element('h3', { class: 'column' }, `Before: ${title}`), left.run.element)
  }
  left.run.refresh()
  const [a, b] = [stepsIn(left.run.element), stepsIn(view.element)]
  const index = a.findIndex((step, place) => step.text !== b[place]?.text)
  const first = index === -1 && a.length === b.length ? null : index === -1 ? a.length : index
  markFirst(left.run.element, first)
  markFirst(view.element, first)
}

/** What is compared: what was asked, what was said, what was called and what came back. @param {HTMLElement} conversation */
const stepsIn = (conversation) =>
  [...conversation.querySelectorAll('.bubble, .answer > .flow.text, .card > .card-body')]
    .filter((node) => !node.closest('.nested-run') && !node.closest('.void') && node.textContent !== '')
    .map((node) => ({ node, text: node.textContent ?? '' }))

/** @param {HTMLElement} conversation @param {number | null} index */
const markFirst = (conversation, index) => {
  const node = index === null ? undefined : stepsIn(conversation)[index]?.node
  for (const marked of conversation.querySelectorAll('.differs'))
    if (marked !== node) marked.classList.remove('differs')
  node?.classList.add('differs')
}

button.addEventListener('click', () => {
  isOn = !isOn
  changed()
})

export const startCompare = () => onChange(render)
