// @ts-check
import { chartOf, outlineOf, pictureOf, svgOf } from './chartPicture.js'
import { byId, setText } from './element.js'
import { number } from './format.js'

/** @import { ActorRow, ChartView } from '../protocol.ts' */
/** @import { Direction } from './chartPicture.js' */
/** @import { Viewport } from './Viewport.js' */
/** @typedef {{ states: string[], taken: Iterable<[name: string, count: number]> }} Step the active states, and the transitions that led to them */
/** @typedef {{ actor(): ActorRow | undefined, now(): Step | undefined, before(): Iterable<[name: string, count: number]> }} Charted `before`: all transitions so far */

const ours = new CSSStyleSheet()
ours.replaceSync(`
  p { margin: 0; position: absolute; inset: 0; display: grid; place-content: center; padding: 2rem; color: var(--text-soft); text-align: center }
  ul { position: absolute; inset: 0; margin: 0; padding: 16px 18px 60px; overflow: auto; list-style: none; font-size: 13px }
  li { padding: 3px 8px; border-radius: 6px; color: var(--text-soft) }
  li.active { background: var(--brand-soft); color: var(--brand-text); font-weight: 600 }
  .depth-2 { margin-left: 14px } .depth-3 { margin-left: 28px } .depth-4 { margin-left: 42px } .depth-5 { margin-left: 56px }
  svg.statechart {
    --paper: transparent; --box: var(--surface); --group: var(--chart-group); --line: var(--border-strong); --ink: var(--text);
    --soft: var(--text-soft); --arrow: var(--chart-edge); --accent: var(--brand-text); --glow: var(--brand-soft);
    color-scheme: inherit; position: absolute; top: 0; left: 0; transform-origin: 0 0; overflow: visible; user-select: none;
  }
  svg.smooth { transition: transform .3s ease }
  svg.statechart .rule { opacity: .5 }
  svg.statechart .inner { fill: var(--text-soft) }
  svg.statechart .inner.active { fill: var(--brand-text); font-weight: 650 }
  svg.statechart .edge:not(.taken) .label { fill: var(--text-soft) }
  svg.statechart .state.complete .box { fill: var(--good-soft); stroke: var(--state-good) }
  svg.statechart .state.complete .name { fill: var(--good) }
  svg.statechart .state.failed .box { fill: var(--danger-soft); stroke: var(--state-bad) }
  svg.statechart .state.failed .name { fill: var(--danger) }
  svg.statechart .state.aborted .box { fill: var(--left-soft); stroke: var(--state-left) }
  svg.statechart .state.aborted .name { fill: var(--left) }
  svg.statechart .state.active.group .box { stroke: var(--chart-around); stroke-width: 1.5 }
  svg.statechart .state.active:not(.group) .box { stroke: var(--brand); stroke-width: 2 }
  svg.statechart .state.active:not(.group, .complete, .failed, .aborted) .name { fill: var(--brand-text) }
  svg.statechart .state.active.complete .box { stroke: var(--state-good); stroke-width: 3 }
  svg.statechart .state.active.failed .box { stroke: var(--state-bad); stroke-width: 3 }
  svg.statechart .state.active.aborted .box { stroke: var(--state-left); stroke-width: 3 }
  svg.statechart .state:focus-visible { outline: none }
  svg.statechart .state:focus-visible > .box { stroke: var(--brand); stroke-width: 3; stroke-dasharray: 5 3 }
  svg.statechart .edge.taken:not(.active) { color: var(--chart-taken) }
  svg.statechart .edge.taken .route { stroke-width: 2 }
  svg.statechart .edge.active .route { stroke-width: 2 }
  svg.statechart .count { font-weight: 600; fill: var(--brand-text) }
  svg.statechart.statechart > .state.group:first-of-type > .box { fill: none; stroke: none }
  @media (prefers-reduced-motion: reduce) { svg.smooth { transition: none } }
`)

/** The chart of an actor: what is active, and what was taken so far. */
export class ChartPane {
  #host
  #root
  #viewport
  #source
  /** @type {number | null} */
  #shownFor = null
  /** @type {Direction} */
  #direction = 'DOWN'
  /** The picture that is shown: it is kept while it stays the same. */
  #shownPicture = ''
  /** @type {Map<string, Element>} */
  #states = new Map()
  /** @type {{ edge: Element, names: string[] }[]} */
  #edges = []
  /** @type {{ name: string, label: Element, count: Element }[]} */
  #labels = []
  /** Shows events, guards and children, or only the arrows. */
  #isDetailed = false

  /** @param {HTMLElement} host @param {Viewport} viewport @param {Charted} source */
  constructor(host, viewport, source) {
    this.#host = host
    this.#viewport = viewport
    this.#source = source
    this.#root = host.attachShadow({ mode: 'open' })
    this.#root.adoptedStyleSheets = [ours]
    // A panel that changes its shape gets a picture of another shape.
    new ResizeObserver(() => this.render()).observe(host)
  }

  /** @param {boolean} isDetailed */
  showDetails(isDetailed) {
    this.#isDetailed = isDetailed
    this.#shownFor = null
    this.render()
  }

  render() {
    const shown = this.#source.actor()
    if (!shown) return
    const wanted = this.#directionNow()
    if (this.#shownFor !== shown.id || this.#direction !== wanted) {
      this.#shownFor = shown.id
      this.#direction = wanted
      if (shown.kind === 'other')
        this.#say(`${shown.title || shown.name} is not a machine, so it has no chart.`)
      else this.#load(shown.id, wanted)
    }
    this.#highlight()
  }

  /** The direction in which there is more room. A chart that is not seen stays as it is. @returns {Direction} */
  #directionNow() {
    const { clientWidth, clientHeight } = this.#host
    if (clientWidth === 0) return this.#direction
    return clientWidth > clientHeight * 1.6 ? 'RIGHT' : 'DOWN'
  }

  /** @param {number} id @param {Direction} wanted */
  async #load(id, wanted) {
    const chart = await chartOf(id)
    const isOutline = !this.#isDetailed
    const isStill = () =>
      this.#shownFor === id && this.#direction === wanted && isOutline !== this.#isDetailed
    if (typeof chart === 'string') {
      if (isStill()) this.#say(chart)
      return
    }
    try {
      if (this.#shownPicture === '') this.#say('Drawing the chart …')
      const shown = isOutline ? outlineOf(chart) : chart
      const picture = await pictureOf(shown, wanted, isOutline)
      if (isStill()) this.#place(picture, shown, chart)
    } catch {
      if (isStill()) this.#list(chart)
    }
  }

  /** @param {string} text */
  #say(text) {
    const made = document.createElement('p')
    made.textContent = text
    this.#show(made)
  }

  /** Lists the states if nothing can be drawn. @param {ChartView} chart */
  #list(chart) {
    this.#show(stateList(chart))
    this.#states = this.#statesIn()
    this.#highlight()
  }

  /** @param {Element} content */
  #show(content) {
    this.#shownPicture = ''
    this.#states = new Map()
    this.#edges = []
    this.#labels = []
    this.#viewport.show(null)
    this.#root.replaceChildren(content)
  }

  /** @param {string} picture @param {ChartView} drawn @param {ChartView} chart */
  #place(picture, drawn, chart) {
    if (picture !== this.#shownPicture) {
      const made = svgOf(picture, drawn)
      if (!made) return this.#list(chart)
      this.#root.adoptedStyleSheets = [made.styles, ours]
      this.#root.replaceChildren(made.svg)
      this.#shownPicture = picture
      explainStates(made.svg, chart)
      this.#index(made.svg)
    }
    this.#highlight()
  }

  #statesIn() {
    const nodes = [...this.#root.querySelectorAll('[data-state]')]
    return new Map(nodes.map((node) => [node.getAttribute('data-state') ?? '', node]))
  }

  /** @param {SVGSVGElement} svg */
  #index(svg) {
    this.#states = this.#statesIn()
    this.#edges = [...svg.querySelectorAll('[data-transitions]')].map((edge) => ({
      edge,
      names: JSON.parse(edge.getAttribute('data-transitions') ?? '[]'),
    }))
    this.#labels = [...svg.querySelectorAll('[data-transition]')].map((label) => {
      const count = document.createElementNS('http://www.w3.org/2000/svg', 'tspan')
      count.setAttribute('class', 'count')
      label.append(count)
      return { name: label.getAttribute('data-transition') ?? '', label, count }
    })
    this.#viewport.show(svg)
  }

  /** Highlights what is active, and writes how often each transition was taken. */
  #highlight() {
    const now = this.#source.now()
    const active = new Set(now?.states)
    for (const [id, node] of this.#states) node.classList.toggle('active', active.has(id))
    /** @type {Map<string, number>} */
    const counts = new Map()
    for (const [name, count] of this.#source.before()) counts.set(name, (counts.get(name) ?? 0) + count)
    const last = new Set([...(now?.taken ?? [])].map(([name]) => name))
    for (const { edge, names } of this.#edges) {
      edge.classList.toggle(
        'taken',
        names.some((name) => counts.has(name)),
      )
      edge.classList.toggle(
        'active',
        names.some((name) => last.has(name)),
      )
    }
    for (const { name, label, count } of this.#labels) {
      const times = counts.get(name) ?? 0
      const text = times > 1 ? ` ×${number(times)}` : ''
      if (count.textContent !== text) count.textContent = text
      label.classList.toggle('active', last.has(name))
    }
    const leaf = [...active]
      .map((id) => this.#states.get(id))
      .findLast((node) => node?.matches('g.state:not(.group)'))
    this.#viewport.follow(leaf ?? null)
  }
}

const about = byId('about-state', HTMLElement)

/**
 * Shows the description of a state that a person points at, or reaches with the keyboard: one stop for the Tab key, then
 * the arrow keys.
 *
 * @param {SVGSVGElement} svg
 * @param {ChartView} chart
 */
const explainStates = (svg, { states }) => {
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

/** The states as a list, for a browser that cannot draw the picture. @param {ChartView} chart */
const stateList = ({ states }) => {
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
