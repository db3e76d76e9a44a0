import { wordingOf } from './arrows.ts'
import type { ChartDescription, ChartState, ChartTransition } from './describeMachine.ts'
import { textWidth } from './textWidth.ts'

export const titleSize = 13
export const labelSize = 11
export const lineHeight = 15
export const pillHeight = 18
/** Between a word and the next, a pill and the next. */
export const gap = 6
export const padding = 12
const titleHeight = 30

/** How often each transition was taken, by name. */
export type Counts = ReadonlyMap<string, number>

/** One line of text about a transition. */
export type Line = { transition: ChartTransition; words: Word[]; width: number }

export type Word = { kind: 'event' | 'guard' | 'count'; text: string }

/** What a state shows of itself, before it is known where. */
export type Box = {
  state: ChartState
  children: Box[]
  /** One of several that are active together. */
  isRegion: boolean
  /** The transitions that leave nothing. */
  lines: Line[]
  /** The least it needs for its own words. */
  width: number
  height: number
  /** How wide its title and its pills are, side by side. */
  titleWidth: number
  pillsWidth: number
  /** Where its pills and its lines begin, from its top. */
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
