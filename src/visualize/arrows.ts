import type { ChartDescription, ChartTransition } from './describeMachine.ts'

/** All transitions from one state to another: drawn as one line with stacked labels. */
export type Arrow = {
  source: string
  target: string
  transitions: ChartTransition[]
  /** Starts in any state inside the source, because the source holds the target. */
  isFromWithin: boolean
  /** Leads to a state around the source. */
  isToAround: boolean
  /** Further targets of a transition whose label is at its first. */
  isRepeated: boolean
}

/** The lines between states, in the chart's order. A transition that leaves no state has no line. */
export const arrowsOf = (chart: ChartDescription): Arrow[] => {
  const parents = new Map(chart.states.map(({ id, parent }) => [id, parent]))
  const arrows = new Map<string, Arrow>()
  for (const transition of chart.transitions) {
    transition.targets.forEach((target, index) => {
      const { source } = transition
      const isRepeated = index > 0
      const key = JSON.stringify([source, target, isRepeated])
      const arrow = arrows.get(key) ?? {
        source,
        target,
        transitions: [],
        isFromWithin: isInside(target, source, parents),
        isToAround: isInside(source, target, parents),
        isRepeated,
      }
      arrow.transitions.push(transition)
      arrows.set(key, arrow)
    })
  }
  return [...arrows.values()]
}

const isInside = (id: string, outer: string, parents: ReadonlyMap<string, string | null>): boolean => {
  const parent = parents.get(id)
  return parent != null && (parent === outer || isInside(parent, outer, parents))
}

/** The label of a transition: the event and its guard, or `else` for the last of several without an event. */
export const wordingOf = (
  { event, label, guard, source }: ChartTransition,
  { transitions }: ChartDescription,
): { event: string; guard: string } => {
  const hasSiblings = transitions.filter((each) => each.source === source && each.event === event).length > 1
  return { event: label, guard: guard === undefined ? (event === '' && hasSiblings ? 'else' : '') : guard }
}

/**
 * The arrows that lead back, against the way the chart grows: in each group, those that close a circle when it is walked
 * from its initial state. Without this choice a layout engine begins anywhere in a circle.
 */
export const backwardArrows = (chart: ChartDescription, arrows: readonly Arrow[]): ReadonlySet<Arrow> => {
  const parents = new Map(chart.states.map(({ id, parent }) => [id, parent]))
  const backward = new Set<Arrow>()
  const steps = arrows.flatMap((arrow) => {
    const step = stepOf(arrow, parents)
    return step ? [step] : []
  })

  for (const { id } of chart.states) {
    const children = chart.states.filter(({ parent }) => parent === id)
    const seen = new Set<string>()
    const open = new Set<string>()
    const walk = (state: string): void => {
      seen.add(state)
      open.add(state)
      for (const { arrow, from, to } of steps) {
        if (from !== state) continue
        if (open.has(to)) backward.add(arrow)
        else if (!seen.has(to)) walk(to)
      }
      open.delete(state)
    }
    for (const child of children.toSorted((a, b) => Number(b.initial) - Number(a.initial))) {
      if (!seen.has(child.id)) walk(child.id)
    }
  }
  return backward
}

/** An arrow as a step between two states of the same group; none when one of its ends holds the other. */
const stepOf = (arrow: Arrow, parents: ReadonlyMap<string, string | null>) => {
  const sources = lineageOf(arrow.source, parents)
  const targets = lineageOf(arrow.target, parents)
  const depth = sources.findIndex((id, index) => id !== targets[index])
  const from = sources[depth]
  const to = targets[depth]
  return from === undefined || to === undefined ? undefined : { arrow, from, to }
}

/** The states around a state, from the machine inwards, and the state itself. */
const lineageOf = (id: string, parents: ReadonlyMap<string, string | null>): string[] => {
  const parent = parents.get(id)
  return parent == null ? [id] : [...lineageOf(parent, parents), id]
}
