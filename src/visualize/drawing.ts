import { type Counts, gap, type Line, lineHeight, padding, pillHeight, pillWidth } from './boxes.ts'
import type { ChartDescription, ChartState } from './describeMachine.ts'
import {
  anyText,
  type LayoutOptions,
  layOutChart,
  type Mark,
  type PlacedArrow,
  type PlacedBox,
  type Point,
  type Rect,
} from './layout.ts'
import { styleSheet } from './styleSheet.ts'

/** Options of {@link toSvg}. */
export type SvgOptions = {
  /** Number of times that each transition was taken, by name, as `TransitionCoverage` counts. Colours the arrows. */
  counts?: ReadonlyMap<string, number>
  /** The title of the picture. Default: the machine's id. */
  title?: string
  /** A prefix for every id in the picture, for pages that show several. */
  idPrefix?: string
}

/** Draws a chart as SVG. The page of the inspector is built with this function, so it runs in a browser, too. */
export const drawChart = async (
  chart: ChartDescription,
  { counts, title = chart.id, idPrefix = '', ...layout }: SvgOptions & Omit<LayoutOptions, 'counts'>,
): Promise<string> => {
  const { width, height, boxes, marks, arrows } = await layOutChart(chart, { ...layout, counts })
  const [w, h] = [Math.ceil(width), Math.ceil(height)]
  const titleId = escapeXml(`${idPrefix}title`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="statechart" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img" aria-labelledby="${titleId}">`,
    `<title id="${titleId}">${escapeXml(title)}</title>`,
    `<style>${styleSheet}</style>`,
    ...boxes.map((box) => drawBox(box, counts)),
    ...marks.map(drawMark),
    ...arrows.map((arrow) => drawArrow(arrow, counts)),
    '</svg>',
    '',
  ].join('\n')
}

const drawBox = (box: PlacedBox, counts: Counts | undefined): string => {
  const { state, x, y, width, height, children, headX } = box
  const isGroup = children.length > 0
  const classes = ['state', state.type, ...(isGroup ? ['group'] : []), ...(box.isRegion ? ['region'] : [])]
  const nameAt = isGroup
    ? `x="${round(headX)}" y="${round(y + 20)}"`
    : `x="${round(x + width / 2)}" y="${round(y + (state.type === 'history' ? 19 : 20))}" text-anchor="middle"`
  return [
    `<g class="${classes.join(' ')}" data-state="${escapeXml(state.id)}">`,
    tooltip(aboutState(state)),
    rect(box, 'box', state.type === 'history' ? width / 2 : 8),
    state.type === 'final'
      ? rect({ x: x + 3, y: y + 3, width: width - 6, height: height - 6 }, 'ring', 5.5)
      : '',
    `<text class="name" ${nameAt}>${escapeXml(nameOf(state))}</text>`,
    ...drawPills(box),
    drawInternal(box, counts),
    '</g>',
  ].join('')
}

const nameOf = ({ type, history, key }: ChartState): string =>
  type === 'history' ? (history === 'deep' ? 'H*' : 'H') : key

const aboutState = ({ description, tags, entry, exit, invokes }: ChartState): string[] => [
  ...(description === undefined ? [] : [description]),
  ...(tags.length > 0 ? [`tags: ${tags.join(', ')}`] : []),
  ...(entry.length > 0 ? [`entry: ${entry.join(', ')}`] : []),
  ...(exit.length > 0 ? [`exit: ${exit.join(', ')}`] : []),
  ...invokes.map(({ label, src }) => `invokes ${label}${label === src ? '' : ` (${src})`}`),
]

const tooltip = (lines: readonly string[]): string =>
  lines.length > 0 ? `<title>${escapeXml(lines.join('\n'))}</title>` : ''

const rect = ({ x, y, width, height }: Rect, name: string, radius: number): string =>
  `<rect class="${name}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}"/>`

const drawPills = (box: PlacedBox): string[] => {
  const { state, children, x, y, width } = box
  const widths = state.invokes.map(({ label }) => pillWidth(label))
  const left = children.length > 0 ? box.headX + box.titleWidth + 2 * gap : x + (width - box.pillsWidth) / 2
  const top = y + box.pillsAt
  return state.invokes.map(({ label }, index) => {
    const start = widths.slice(0, index).reduce((sum, each) => sum + each + gap, left)
    const pill = { x: start, y: top, width: widths[index] ?? 0, height: pillHeight }
    const text = `x="${round(start + pill.width / 2 + 6)}" y="${round(top + 12.9)}" text-anchor="middle"`
    return [
      `<g class="pill">${rect(pill, 'back', pillHeight / 2)}`,
      `<path d="M${round(start + 9)} ${round(top + 5.5)}l6 3.5l-6 3.5z"/>`,
      `<text ${text}>${escapeXml(label)}</text></g>`,
    ].join('')
  })
}

const drawInternal = (box: PlacedBox, counts: Counts | undefined): string => {
  const { lines, children, x, y, width, headX } = box
  if (lines.length === 0) return ''
  const top = y + box.linesAt
  const left = children.length > 0 ? headX : x + padding
  const texts = lines.map((line, index) =>
    drawLine(line, `x="${round(left)}" y="${round(top + index * lineHeight + 14)}"`, counts),
  )
  const rule = `<path class="rule" d="M${round(x)} ${round(top)}h${round(width)}"/>`
  return `<g class="edge internal" data-transitions="${namesOf(lines)}">${rule}${texts.join('')}</g>`
}

const namesOf = (lines: readonly Line[]): string =>
  escapeXml(JSON.stringify(lines.map(({ transition }) => transition.name)))

const drawLine = ({ transition, words }: Line, place: string, counts: Counts | undefined): string => {
  const { name, actions, description } = transition
  const spans = words.map(
    ({ kind, text }, index) =>
      `<tspan class="${kind}"${index > 0 ? ` dx="${gap}"` : ''}>${escapeXml(text)}</tspan>`,
  )
  const about = [
    ...(description === undefined ? [] : [description]),
    ...(actions.length > 0 ? [`actions: ${actions.join(', ')}`] : []),
  ]
  return `<text class="label${heat([name], counts)}" data-transition="${escapeXml(name)}" ${place}>${tooltip(about)}${spans.join('')}</text>`
}

/** The count as a class: `taken-0` for never, then one level for each power of ten. */
const heat = (names: readonly string[], counts: Counts | undefined): string => {
  if (!counts) return ''
  const total = names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0)
  return ` taken-${total === 0 ? 0 : Math.min(4, 1 + Math.floor(Math.log10(total)))}`
}

const drawMark = (mark: Mark): string => {
  const { kind, x, y, width, height } = mark
  if (kind === 'initial') {
    return `<circle class="initial" cx="${round(x + width / 2)}" cy="${round(y + height / 2)}" r="${width / 2}"/>`
  }
  return `<g class="any">${rect(mark, 'back', height / 2)}<text x="${round(x + width / 2)}" y="${round(y + height / 2 + 3.9)}" text-anchor="middle">${anyText}</text></g>`
}

const drawArrow = ({ arrow, lines, path, label }: PlacedArrow, counts: Counts | undefined): string => {
  const line = `<path class="route" d="${routeOf(path, label)}"/><path class="head" d="${tipOf(path)}"/>`
  if (!arrow) return `<g class="edge">${line}</g>`
  const names = arrow.transitions.map(({ name }) => name)
  const texts = lines.map((each, index) => {
    if (!label) return ''
    const place = `x="${round(label.x + label.width / 2)}" y="${round(label.y + index * lineHeight + 13)}" text-anchor="middle"`
    return drawLine(each, place, counts)
  })
  return `<g class="edge${heat(names, counts)}" data-transitions="${escapeXml(JSON.stringify(names))}">${line}${texts.join('')}</g>`
}

/** A path as SVG has it, with round corners, and with a gap for its own label. */
const routeOf = (path: readonly Point[], label: Rect | null): string =>
  (label ? cut(path, label) : [path]).map(rounded).join('')

/** The tip of an arrow that ends with this path. */
const tipOf = (path: readonly Point[]): string => {
  const tip = path.at(-1)
  const before = path.at(-2)
  if (!tip || !before) return ''
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1
  const along = { x: (tip.x - before.x) / length, y: (tip.y - before.y) / length }
  const corner = (side: number) =>
    at({ x: tip.x - 7 * along.x - side * along.y, y: tip.y - 7 * along.y + side * along.x })
  return `M${at(tip)}L${corner(3.5)}L${corner(-3.5)}z`
}

const round = (value: number): number => Math.round(value * 10) / 10

const at = ({ x, y }: Point): string => `${round(x)} ${round(y)}`

const rounded = (points: readonly Point[]): string =>
  points
    .map((point, index) => {
      const before = points[index - 1]
      const after = points[index + 1]
      if (!before) return `M${at(point)}`
      if (!after) return `L${at(point)}`
      return `L${at(towards(point, before))}Q${at(point)} ${at(towards(point, after))}`
    })
    .join('')

const radius = 6

const towards = (from: Point, to: Point): Point => {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  const part = Math.min(radius, length / 2) / length
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
}

/** The pieces of a path that are outside a rectangle. */
const cut = (path: readonly Point[], rect: Rect): Point[][] => {
  const pieces: Point[][] = [path.slice(0, 1)]
  for (const [index, to] of path.entries()) {
    const from = path[index - 1]
    if (!from) continue
    const [enter, leave] = inside(from, to, rect)
    const between = (part: number) => ({
      x: from.x + (to.x - from.x) * part,
      y: from.y + (to.y - from.y) * part,
    })
    if (enter < leave) {
      pieces.at(-1)?.push(between(enter))
      pieces.push([between(leave)])
    }
    pieces.at(-1)?.push(to)
  }
  return pieces.filter((piece) => lengthOfPath(piece) > 1)
}

/** The part of a straight line that runs inside a rectangle, from 0 to 1; empty where it ends before it begins. */
const inside = (from: Point, to: Point, { x, y, width, height }: Rect): [enter: number, leave: number] => {
  const within = (start: number, end: number, low: number, high: number): [number, number] => {
    if (start === end) return start > low && start < high ? [0, 1] : [1, 0]
    const [a, b] = [(low - start) / (end - start), (high - start) / (end - start)]
    return [Math.min(a, b), Math.max(a, b)]
  }
  const across = within(from.x, to.x, x, x + width)
  const down = within(from.y, to.y, y, y + height)
  return [Math.max(0, across[0], down[0]), Math.min(1, across[1], down[1])]
}

const lengthOfPath = (path: readonly Point[]): number =>
  path.reduce((sum, { x, y }, index) => {
    const before = path[index - 1]
    return before ? sum + Math.hypot(x - before.x, y - before.y) : sum
  }, 0)

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}

/** Any text, as XML text or as the value of an attribute; characters that XML cannot hold are replaced. */
const escapeXml = (text: string): string =>
  text
    .replace(/[^\P{Cc}\t\n\r]|\p{Cs}|\p{Noncharacter_Code_Point}/gu, '\ufffd')
    .replace(/[&<>"'\n\r\t]/g, (char) => entities[char] ?? char)
