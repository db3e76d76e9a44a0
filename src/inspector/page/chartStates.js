// @ts-check
import { byId, setText } from './element.js'

/** @import { ChartDescription } from '../../visualize/index.ts' */

const about = byId('about-state', HTMLElement)

/**
 * Lets a person point at a state, or get there with the keyboard, and read what it is for: one stop for the Tab key, then
 * the arrow keys.
 *
 * @param {SVGSVGElement} svg
 * @param {ChartDescription} chart
 */
export const explainStates = (svg, { states }) => {
  const nodes = states.flatMap(({ id, key, description = '' }) => {
    const node = svg.querySelector(`[data-state="${CSS.escape(id)}"]`)
    if (!(node instanceof SVGElement)) return []
    const words = description === '' ? key : `${key}: ${description}`
    node.setAttribute('role', 'img')
    node.setAttribute('aria-label', words)
    node.tabIndex = -1
    const show = () => setText(about, description === '' ? '' : words)
    node.addEventListener('focus', show)
    node.addEventListener('blur', () => setText(about, ''))
    node.addEventListener('pointerover', (event) => {
      event.stopPropagation()
      show()
    })
    return [node]
  })
  svg.addEventListener('pointerleave', () => setText(about, ''))
  if (nodes[0]) nodes[0].tabIndex = 0
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key]
    const from = event.target instanceof SVGElement ? nodes.indexOf(event.target) : -1
    const next = step === undefined || from === -1 ? undefined : nodes[from + step]
    if (!next) return
    event.preventDefault()
    for (const node of nodes) node.tabIndex = node === next ? 0 : -1
    next.focus()
  })
}

/** The states as a list, where no picture can be drawn. @param {ChartDescription} chart */
export const stateList = ({ states }) => {
  const parents = new Map(states.map(({ id, parent }) => [id, parent]))
  const depthOf = (/** @type {string | null} */ id) => {
    let depth = 0
    for (let at = id; at !== null && at !== undefined; at = parents.get(at) ?? null) depth += 1
    return depth
  }
  const list = document.createElement('ul')
  for (const { id, key, description = '' } of states) {
    const item = document.createElement('li')
    item.setAttribute('data-state', id)
    item.className = `state depth-${Math.min(5, depthOf(id))}`
    item.textContent = description === '' ? key : `${key}: ${description}`
    list.append(item)
  }
  return list
}
