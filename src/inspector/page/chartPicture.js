// @ts-check
import { drawChart } from './drawing.js'
import { layOut } from './layOut.js'
import { innerOf } from './outline.js'
import { ask, nameOf } from './source.js'

/** @import { ChartDescription } from '../../visualize/index.ts' */
/** @typedef {'DOWN' | 'RIGHT'} Direction */

/** The way of a run that goes well. What else is in the chart is drawn more quietly. */
const mainWay = [
  ['Initialized', 'MessageReset'],
  ['MessageReset', 'Accumulating'],
  ['Requesting', 'Streaming'],
  ['Accumulating', 'Consolidating'],
  ['Consolidating', 'ToolCheck'],
  ['ToolCheck', 'ToolExecution'],
  ['ToolCheck', 'Complete'],
  ['ToolExecution', 'ToolResults'],
  ['ToolResults', 'MessageReset'],
].map(([from, to]) => `${from} ${to}`)

const ends = new Map([
  ['Complete', 'good'],
  ['Failed', 'bad'],
  ['Aborted', 'left'],
])

/** Charts by actor. @type {Map<string, Promise<ChartDescription | string>>} */
const charts = new Map()
/** Pictures by chart and direction: machines of the same shape share one. @type {Map<string, Promise<string>>} */
const pictures = new Map()

/** The chart of an actor, or a sentence that says why there is none. @param {number} id */
export const chartOf = (id) => {
  const known = charts.get(nameOf(id))
  if (known) return known
  const loading = ask(`chart?actor=${id}`).then(
    async (response) =>
      response.ok ? /** @type {Promise<ChartDescription>} */ (response.json()) : await response.text(),
    () => 'The chart cannot be fetched.',
  )
  charts.set(nameOf(id), loading)
  return loading
}

/** @param {ChartDescription} chart @param {Direction} direction @param {boolean} isTight */
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
 * @param {ChartDescription} chart
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

/** Says what is on the main way, and which end is which. @param {SVGSVGElement} svg @param {ChartDescription} chart */
const classify = (svg, { states, transitions }) => {
  const words = new Map(
    transitions.map(({ name, label, guard = '' }) => [name, guard === '' ? label : `${label} [${guard}]`]),
  )
  const keys = new Map(states.map(({ id, key }) => [id, key]))
  const isAgent = ['MessageReset', 'Accumulating', 'ToolCheck'].every((key) =>
    states.some((each) => each.key === key),
  )
  for (const edge of svg.querySelectorAll('[data-transitions]')) {
    const names = new Set(JSON.parse(edge.getAttribute('data-transitions') ?? '[]'))
    const isMain = transitions.some(
      ({ name, source, targets }) =>
        names.has(name) &&
        targets.some((target) => mainWay.includes(`${keys.get(source)} ${keys.get(target)}`)),
    )
    if (!edge.querySelector('title'))
      edge.prepend(titleOf([...names].map((name) => words.get(name) || 'always')))
    if (isAgent && !edge.classList.contains('internal')) edge.classList.add(isMain ? 'main' : 'side')
  }
  for (const row of svg.querySelectorAll('[data-transition]')) {
    const id = innerOf(row.getAttribute('data-transition') ?? '')
    if (id === '') continue
    row.removeAttribute('data-transition')
    row.setAttribute('data-state', id)
    row.classList.add('inner')
  }
  for (const node of svg.querySelectorAll('.state.final')) {
    const end = ends.get(keys.get(node.getAttribute('data-state') ?? '') ?? '')
    if (end) node.classList.add(end)
  }
}

/** @param {string[]} lines */
const titleOf = (lines) => {
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title')
  title.textContent = lines.join('\n')
  return title
}
