import { type Counts, gap, type Line, lineHeight, padding, pillHeight, pillWidth } from './boxes.ts'
import type { ChartState } from './describeMachine.ts'
import { anyText, type Mark, type PlacedArrow, type PlacedBox, type Rect } from './layout.ts'
import { headOf, round, routeOf } from './lines.ts'
import { escapeXml } from './xml.ts'

export const drawBox = (box: PlacedBox, counts: Counts | undefined): string => {
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

/** How often, as a class: `taken-0` for never, then one more for each power of ten. */
const heat = (names: readonly string[], counts: Counts | undefined): string => {
  if (!counts) return ''
  const total = names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0)
  return ` taken-${total === 0 ? 0 : Math.min(4, 1 + Math.floor(Math.log10(total)))}`
}

export const drawMark = (mark: Mark): string => {
  const { kind, x, y, width, height } = mark
  if (kind === 'initial') {
    return `<circle class="initial" cx="${round(x + width / 2)}" cy="${round(y + height / 2)}" r="${width / 2}"/>`
  }
  return `<g class="any">${rect(mark, 'back', height / 2)}<text x="${round(x + width / 2)}" y="${round(y + height / 2 + 3.9)}" text-anchor="middle">${anyText}</text></g>`
}

export const drawArrow = ({ arrow, lines, path, label }: PlacedArrow, counts: Counts | undefined): string => {
  const line = `<path class="route" d="${routeOf(path, label)}"/><path class="head" d="${headOf(path)}"/>`
  if (!arrow) return `<g class="edge">${line}</g>`
  const names = arrow.transitions.map(({ name }) => name)
  const texts = lines.map((each, index) => {
    if (!label) return ''
    const place = `x="${round(label.x + label.width / 2)}" y="${round(label.y + index * lineHeight + 13)}" text-anchor="middle"`
    return drawLine(each, place, counts)
  })
  return `<g class="edge${heat(names, counts)}" data-transitions="${escapeXml(JSON.stringify(names))}">${line}${texts.join('')}</g>`
}
