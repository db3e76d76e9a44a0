import type { ChartDescription, ChartTransition } from './describeMachine.ts'

/** All transitions from one state to another: drawn as one line with stacked labels. */
export type Arrow = {
  source: string
  target: string
  transitions: ChartTransition[]
  /** It starts in any state inside the source: the source holds the target. */
  isFromWithin: boolean
  /** It leads to a state around the source. */
  isToAround: boolean
  /** Further targets of a transition whose label is at its first. */
  isRepeated: boolean
}

/** The lines between states, in the chart's order. Transitions that leave nothing have none. */
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
