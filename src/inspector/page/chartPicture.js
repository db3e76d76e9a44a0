// @ts-check
import { actorKey, ask, workerUrl } from './actions.js'
import { drawChart } from './drawing.js'

/** @import { ElkNode } from 'elkjs/lib/elk.bundled.js' */
/** @import { ChartState, ChartTransition } from '../../visualize/index.ts' */
/** @import { ChartView } from '../protocol.ts' */
/** @typedef {'DOWN' | 'RIGHT'} Direction */

/** Charts by actor. @type {Map<string, Promise<ChartView | string>>} */
const charts = new Map()
/** Pictures by chart and direction: machines of the same shape share one. @type {Map<string, Promise<string>>} */
const pictures = new Map()

/** The chart of an actor, or a sentence that says why it cannot be shown. @param {number} id */
export const chartOf = (id) => {
  const known = charts.get(actorKey(id))
  if (known) return known
  const loading = ask(`chart?actor=${id}`).then(
    async (response) =>
      response.ok ? /** @type {Promise<ChartView>} */ (response.json()) : await response.text(),
    () => 'The chart cannot be fetched.',
  )
  charts.set(actorKey(id), loading)
  return loading
}

/** The picture of a chart as SVG. @param {ChartView} chart @param {Direction} direction @param {boolean} isTight */
export const pictureOf = (chart, direction, isTight) => {
  const key = `${direction} ${isTight} ${JSON.stringify(chart)}`
  const known = pictures.get(key)
  if (known) return known
  const drawing = drawChart(chart, { layOut, direction, isTight, idPrefix: 'chart-' })
  drawing.catch(() => pictures.delete(key))
  pictures.set(key, drawing)
  return drawing
}

/**
 * The picture as a part of the page. Its own styles are adopted: the policy of the page forbids styles inside it.
 *
 * @param {string} text
 * @param {ChartView} chart
 */
export const svgOf = (text, chart) => {
  const styles = new CSSStyleSheet()
  styles.replaceSync(/<style>(.*?)<\/style>/s.exec(text)?.[1] ?? '')
  const drawn = text.replace(/<style>.*?<\/style>/s, '')
  const svg = new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement
  if (!(svg instanceof SVGSVGElement)) return null
  const own = document.importNode(svg, true)
  own.setAttribute('role', 'group')
  classify(own, chart)
  return { svg: own, styles }
}

/** Marks the ends of the run, and says what an arrow is taken for. @param {SVGSVGElement} svg @param {ChartView} chart */
const classify = (svg, { transitions, ends = {} }) => {
  const words = new Map(
    transitions.map(({ name, label, guard = '' }) => [name, guard === '' ? label : `${label} [${guard}]`]),
  )
  for (const edge of svg.querySelectorAll('[data-transitions]')) {
    /** @type {string[]} */
    const names = JSON.parse(edge.getAttribute('data-transitions') ?? '[]')
    if (!edge.querySelector('title')) edge.prepend(titleOf(names.map((name) => words.get(name) || 'always')))
  }
  for (const row of svg.querySelectorAll('[data-transition]')) {
    const id = innerOf(row.getAttribute('data-transition') ?? '')
    if (id === '') continue
    row.removeAttribute('data-transition')
    row.setAttribute('data-state', id)
    row.classList.add('inner')
  }
  for (const node of svg.querySelectorAll('.state.final')) {
    const end = ends[node.getAttribute('data-state') ?? '']
    if (end) node.classList.add(end)
  }
}

/** @param {string[]} lines */
const titleOf = (lines) => {
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title')
  title.textContent = lines.join('\n')
  return title
}

/** A chart with more states than this shows inner states as lines in the boxes of the outer ones. */
const mostBoxes = 12
const inner = 'inner state '

/**
 * The chart without its words: only the arrows between its states, small enough to be read at once.
 *
 * @param {ChartView} chart
 * @returns {ChartView}
 */
export const outlineOf = (chart) => {
  const parents = new Map(chart.states.map(({ id, parent }) => [id, parent]))
  const root = chart.states[0]?.id ?? ''
  const isFolded = chart.states.length > mostBoxes && chart.states[0]?.type === 'compound'
  /** The state right below the machine that a state is in. @param {string} id @returns {string} */
  const top = (id) => {
    const parent = parents.get(id)
    return !isFolded || parent === null || parent === undefined || parent === root ? id : top(parent)
  }
  /** Spaces that SVG keeps, for a state inside of an inner one. @param {string} id @returns {string} */
  const indent = (id) => {
    const parent = parents.get(id) ?? ''
    return parent === '' || parent === top(id) ? '' : `\u2003${indent(parent)}`
  }
  const isBox = (/** @type {ChartState} */ { id }) => top(id) === id
  const folded = chart.states.filter((state) => !isBox(state))
  return {
    ...chart,
    states: chart.states.filter(isBox).map((state) => ({
      ...state,
      invokes: [],
      type: isFolded && state.id !== root && state.type === 'compound' ? 'atomic' : state.type,
    })),
    transitions: [
      ...folded.map(({ id, key }) => rowOf(id, `${indent(id)}${key}`, top(id))),
      ...chart.transitions.flatMap((transition) => {
        const source = top(transition.source)
        const targets = transition.targets.map(top).filter((target) => !isFolded || target !== source)
        return targets.length > 0 ? [{ ...transition, source, targets, label: '', guard: '' }] : []
      }),
    ],
  }
}

/** A state inside another one, as a line of its box. @param {string} id @param {string} key @param {string} source @returns {ChartTransition} */
const rowOf = (id, key, source) => ({
  name: `${inner}${id}`,
  source,
  targets: [],
  event: key,
  label: key,
  actions: [],
  kind: 'internal',
})

/** The state that a line of a box shows; empty for any other line. @param {string} name */
const innerOf = (name) => (name.startsWith(inner) ? name.slice(inner.length) : '')

/** @typedef {{ resolve(placed: ElkNode): void, reject(error: Error): void }} Waiting */

/** Time after which a layout is stopped: the states are listed instead. */
const longestMs = 20_000

/** @type {Map<number, Waiting>} */
const waiting = new Map()
/** @type {Worker | undefined} */
let worker
let lastId = 0

const startWorker = () => {
  const made = new Worker(workerUrl('chartWorker.js'))
  made.onmessage = ({ data: { id, placed, problem } }) => {
    if (placed) waiting.get(id)?.resolve(placed)
    else waiting.get(id)?.reject(new Error(problem))
  }
  made.onerror = () => fail('The chart layout could not be loaded.')
  return made
}

/** @param {string} problem */
const fail = (problem) => {
  worker?.terminate()
  worker = undefined
  for (const { reject } of waiting.values()) reject(new Error(problem))
}

/** Places a graph, in a worker. @param {ElkNode} graph @returns {Promise<ElkNode>} */
const layOut = (graph) => {
  worker ??= startWorker()
  lastId += 1
  const id = lastId
  const timer = setTimeout(() => fail('The layout took too long.'), longestMs)
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    worker?.postMessage({ id, graph })
  }).finally(() => {
    clearTimeout(timer)
    waiting.delete(id)
  })
}
