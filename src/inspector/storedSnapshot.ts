import type { Snapshot } from 'xstate'
import type { HostedFrom } from '../agent/Agent.ts'
import type { Charted, ChartNode } from '../visualize/transitions.ts'
import { sameWhereEqual } from './sameWhereEqual.ts'
import { leavesOf } from './stateOf.ts'

/** Of a machine, as far as it is looked at. */
type Standing = Snapshot<unknown> & { value?: unknown; context?: unknown }

/** What a stored run goes on from, as the snapshot of an actor shows it. It is read anew each time: `before` is the last one. */
export const storedSnapshot = (from: HostedFrom, before: Standing | null): Standing => {
  const now: Standing =
    'input' in from ? { status: 'active', output: undefined, error: undefined, context: from } : from.snapshot
  return { ...now, context: sameWhereEqual(before?.context, now.context) }
}

/** The ids of the states that a run is in, as a chart knows them. */
export const stateIds = ({ root }: Charted, snapshot: unknown): string[] => [
  ...new Set([root.id, ...idsInside(root, snapshot)]),
]

/** Of the run, or, where the chart does not know its states, of a run inside it. */
const idsInside = (root: ChartNode, snapshot: unknown): string[] => {
  const { value, children }: { value?: unknown; children?: unknown } = Object(snapshot)
  const ids = leavesOf(value).flatMap((path) => idsOn(root, path.split('.')))
  if (ids.length > 0) return ids
  const below = Object.values(Object(children)).map((child) => idsInside(root, Object(child).snapshot))
  return below.find((each) => each.length > 0) ?? []
}

/** As far as the chart knows them: a stored run may come from another one. */
const idsOn = (node: ChartNode, [key, ...rest]: readonly string[]): string[] => {
  const inner = key !== undefined && Object.hasOwn(node.states, key) ? node.states[key] : undefined
  return inner ? [inner.id, ...idsOn(inner, rest)] : []
}
