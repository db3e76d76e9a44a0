import type { Arrow } from './arrows.ts'
import type { ChartDescription } from './describeMachine.ts'

/**
 * The arrows that lead back, against the way the chart grows: in each group, those that close a circle when it is walked
 * from its initial state. Without this choice a layouter begins anywhere in a circle.
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
