import { wordingOf } from './arrows.ts'
import type { ChartDescription, ChartState, ChartTransition } from './describeMachine.ts'

const titleSize = 13
export const labelSize = 11
export const lineHeight = 15
export const pillHeight = 18
/** Between a word and the next, a pill and the next. */
export const gap = 6
export const padding = 12
const titleHeight = 30

/** Number of times that each transition was taken, by name. */
export type Counts = ReadonlyMap<string, number>

/** A line of text about a transition. */
export type Line = { transition: ChartTransition; words: Word[]; width: number }

export type Word = { kind: 'event' | 'guard' | 'count'; text: string }

/** The words of a state and the room they need, before the layout places them. */
export type Box = {
  state: ChartState
  children: Box[]
  /** A region of a parallel state: active together with the others. */
  isRegion: boolean
  /** The transitions that do not leave the state. */
  lines: Line[]
  /** The smallest size in which its own words fit. */
  width: number
  height: number
  /** The widths of its title and of its pills, which are side by side. */
  titleWidth: number
  pillsWidth: number
  /** The distance of its pills and of its lines from its top. */
  pillsAt: number
  linesAt: number
}

/** The machine's box, with those of all states inside. */
export const boxesOf = (chart: ChartDescription, counts: Counts | undefined): Box => {
  const boxOf = (state: ChartState, isRegion: boolean): Box => {
    const children = chart.states
      .filter(({ parent }) => parent === state.id)
      .map((child) => boxOf(child, state.type === 'parallel'))
    const lines = chart.transitions
      .filter(({ source, targets }) => source === state.id && targets.length === 0)
      .map((transition) => lineOf(transition, chart, counts))
    return { state, children, isRegion, lines, ...sizeOf(state, lines, children.length > 0) }
  }
  const [root] = chart.states
  if (!root) throw new Error('A chart has at least one state.')
  return boxOf(root, false)
}

export const lineOf = (
  transition: ChartTransition,
  chart: ChartDescription,
  counts: Counts | undefined,
): Line => {
  const { event, guard } = wordingOf(transition, chart)
  const words: Word[] = [
    { kind: 'event', text: event },
    { kind: 'guard', text: guard && `[${guard}]` },
    { kind: 'count', text: counts ? `×${counts.get(transition.name) ?? 0}` : '' },
  ]
  const shown = words.filter(({ text }) => text !== '')
  return { transition, words: shown, width: rowWidth(shown.map(({ text }) => textWidth(text, labelSize))) }
}

const rowWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap * Math.max(0, widths.length - 1)

export const pillWidth = (label: string): number => textWidth(label, labelSize) + 28

const sizeOf = (state: ChartState, lines: readonly Line[], isGroup: boolean) => {
  if (state.type === 'history') {
    return { width: 28, height: 28, titleWidth: 0, pillsWidth: 0, pillsAt: 0, linesAt: 0 }
  }
  const titleWidth = textWidth(state.key, titleSize, true)
  const pillsWidth = rowWidth(state.invokes.map(({ label }) => pillWidth(label)))
  const hasPillRow = !isGroup && pillsWidth > 0
  // Beside the title in the head of a group, below it in a small box.
  const heads = isGroup ? [titleWidth + pillsWidth + 2 * gap] : [titleWidth, pillsWidth]
  const linesAt = titleHeight + (hasPillRow ? pillHeight + 9 : 0)
  return {
    width: Math.max(64, ...heads, ...lines.map((line) => line.width)) + 2 * padding,
    height: linesAt + (lines.length > 0 ? lines.length * lineHeight + 10 : 0),
    titleWidth,
    pillsWidth,
    pillsAt: isGroup ? 6 : titleHeight,
    linesAt,
  }
}

const classes: readonly [RegExp, number][] = [
  [/[ijl|'`]/, 0.23],
  [/[ftrI.,:;!()[\]{}/\\\- "]/, 0.32],
  [/[mwMW@%]/, 0.86],
  [/[A-Z&#]/, 0.69],
  // Wide scripts and pictures take a whole square.
  [/[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|[\u{1f000}-\u{1faff}]/u, 1.1],
]

/** Estimates the width of a text in a common sans-serif font, a little too wide: only a browser could measure it. */
export const textWidth = (text: string, fontSize: number, isBold = false): number => {
  let width = 0
  for (const char of text) width += classes.find(([chars]) => chars.test(char))?.[1] ?? 0.56
  return Math.ceil(width * fontSize * (isBold ? 1.1 : 1.03))
}
