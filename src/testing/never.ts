import type { AnyEventObject, AnyStateMachine, SnapshotFrom } from 'xstate'
import type { GraphState } from './graph.ts'

/** One step of a machine: where it was, what came, and where it is then. */
export type ModelStep<M extends AnyStateMachine> = {
  before: SnapshotFrom<M>
  event: AnyEventObject
  after: SnapshotFrom<M>
}

/** Something that must not happen on any path: `bad`, after `after` has happened and before `until` has. */
export type Never<M extends AnyStateMachine> = {
  name: string
  /** Left out: from the start. */
  after?: (step: ModelStep<M>) => boolean
  until?: (step: ModelStep<M>) => boolean
  bad: (step: ModelStep<M>) => boolean
}

/** A path on which it happens: its events; undefined if there is none. */
export const brokenBy = <M extends AnyStateMachine>(
  graph: ReadonlyMap<string, GraphState<M>>,
  { after, until, bad }: Never<M>,
): AnyEventObject[] | undefined => {
  const [start] = graph.keys()
  if (start === undefined) return undefined
  // The same state counts twice: before and after the thing that makes the other one bad.
  const nameOf = (at: string, isArmed: boolean) => `${isArmed} ${at}`
  const first = { at: start, isArmed: after === undefined, events: [] as AnyEventObject[] }
  const ways = new Map([[nameOf(first.at, first.isArmed), first]])
  // A map hands out what is added to it while it is walked: this is a breadth-first search.
  for (const { at, isArmed, events } of ways.values()) {
    const from = graph.get(at)
    for (const { event, to } of from?.edges ?? []) {
      const next = graph.get(to)
      if (!from || !next) continue
      const step = { before: from.snapshot, event, after: next.snapshot }
      const path = [...events, event]
      const isOpen = isArmed && !until?.(step)
      if (isOpen && bad(step)) return path
      const armed = isOpen || (after?.(step) ?? false)
      const name = nameOf(to, armed)
      if (!ways.has(name)) ways.set(name, { at: to, isArmed: armed, events: path })
    }
  }
  return undefined
}
