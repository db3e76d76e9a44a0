// @ts-check
import { byId } from './element.js'
import { number } from './format.js'
import { ask, nameOf } from './source.js'
import { actor, onChange, shownIndex, shownMoment, state } from './store.js'
import { Viewport } from './Viewport.js'

const host = byId('chart', HTMLElement)
const root = host.attachShadow({ mode: 'open' })
const ours = new CSSStyleSheet()
ours.replaceSync(`
  p { margin: 0; position: absolute; inset: 0; display: grid; place-content: center; padding: 2rem; color: var(--text-soft); text-align: center }
  svg.statechart {
    --paper: transparent; --box: var(--surface); --group: var(--chart-group); --line: var(--border-strong); --ink: var(--text);
    --soft: var(--text-soft); --arrow: var(--chart-edge); --accent: var(--brand-text); --glow: var(--brand-soft);
    color-scheme: inherit; position: absolute; top: 0; left: 0; transform-origin: 0 0; overflow: visible; user-select: none;
  }
  svg.smooth { transition: transform .3s ease }
  svg.statechart .state.active.group .box { stroke: var(--chart-around); stroke-width: 1.5 }
  svg.statechart .state.active:not(.group) .box { stroke: var(--brand); stroke-width: 2 }
  svg.statechart .state.active:not(.group) .name { fill: var(--brand-text) }
  svg.statechart .edge.taken:not(.active) { color: var(--chart-taken) }
  svg.statechart .edge.active .route { stroke-width: 2 }
  svg.statechart .count { font-weight: 600; fill: var(--brand-text) }
  @media (prefers-reduced-motion: reduce) { svg.smooth { transition: none } }
`)
root.adoptedStyleSheets = [ours]

const viewport = new Viewport(host)

/** Charts by what was fetched for which actor. @type {Map<string, Promise<string>>} */
const fetched = new Map()
let shownFor = ''
let shownSvg = ''
/** @type {Map<string, Element>} */
let states = new Map()
/** @type {Map<string, { edge: Element | null, label: Element, count: Element }>} */
let labels = new Map()

/** @param {number} id */
const load = (id) => {
  const known = fetched.get(nameOf(id))
  if (known) return known
  const loading = ask(`chart?actor=${id}`).then(
    async (response) => (response.ok ? response.text() : `!${await response.text()}`),
    () => '!The chart cannot be fetched.',
  )
  fetched.set(nameOf(id), loading)
  return loading
}

const render = () => {
  const shown = actor()
  if (!shown) return
  const name = nameOf(shown.id)
  if (shownFor !== name) {
    shownFor = name
    if (shown.kind === 'other') say(`${shown.title || shown.name} is a helper: it has no chart.`)
    else load(shown.id).then((svg) => shownFor === name && place(svg))
  }
  light()
}

/** @param {string} text */
const say = (text) => {
  shownSvg = ''
  states = new Map()
  labels = new Map()
  viewport.show(null)
  const made = document.createElement('p')
  made.textContent = text
  root.replaceChildren(made)
}

/** @param {string} text an SVG, or after `!` why there is none */
const place = (text) => {
  if (text.startsWith('!')) return say(text.slice(1))
  if (text !== shownSvg) {
    // The page's policy forbids styles inside the document; a sheet that is adopted is none.
    const theirs = new CSSStyleSheet()
    theirs.replaceSync(/<style>(.*?)<\/style>/s.exec(text)?.[1] ?? '')
    const drawn = text.replace(/<style>.*?<\/style>/s, '')
    const svg = new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement
    if (!(svg instanceof SVGSVGElement)) return say('The chart cannot be read.')
    root.adoptedStyleSheets = [theirs, ours]
    root.replaceChildren(document.importNode(svg, true))
    shownSvg = text
    index()
  }
  light()
}

const index = () => {
  const svg = root.querySelector('svg')
  states = new Map(
    [...root.querySelectorAll('[data-state]')].map((node) => [node.getAttribute('data-state') ?? '', node]),
  )
  labels = new Map(
    [...root.querySelectorAll('[data-transition]')].map((label) => {
      const count = document.createElementNS('http://www.w3.org/2000/svg', 'tspan')
      count.setAttribute('class', 'count')
      label.append(count)
      return [label.getAttribute('data-transition') ?? '', { edge: label.closest('.edge'), label, count }]
    }),
  )
  viewport.show(svg)
}

/** Lights what is active, and says how often each transition was taken. */
const light = () => {
  const moment = shownMoment()
  const active = new Set(moment?.states)
  for (const [id, node] of states) node.classList.toggle('active', active.has(id))
  const counts = new Map(state.droppedTaken)
  for (const { taken } of state.moments.slice(0, shownIndex() + 1)) {
    for (const [name, count] of taken) counts.set(name, (counts.get(name) ?? 0) + count)
  }
  const last = new Set(moment?.taken.map(([name]) => name))
  for (const { edge } of labels.values()) edge?.classList.remove('taken', 'active')
  for (const [name, { edge, label, count }] of labels) {
    const times = counts.get(name) ?? 0
    const text = times > 1 ? ` ×${number(times)}` : ''
    if (count.textContent !== text) count.textContent = text
    label.classList.toggle('active', last.has(name))
    if (times > 0) edge?.classList.add('taken')
    if (last.has(name)) edge?.classList.add('active')
  }
  const leaf = [...(moment?.states ?? [])]
    .map((id) => states.get(id))
    .findLast((node) => node && !node.classList.contains('group'))
  viewport.follow(leaf ?? null)
}

export const startChart = () => onChange(render)
