import type { AnyStateMachine, Snapshot } from 'xstate'
import { createChart } from '../../machines/agent/chart.ts'
import type { AgentOutput } from '../../machines/agent/events.ts'
import { factsOf } from '../../machines/agent/states.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { findProvider } from '../../providers/registry.ts'
import { describeMachine } from '../visualize/describeMachine.ts'
import { type Charted, type ChartNode, nameOf } from '../visualize/transitions.ts'
import type { Activity, ChartView, RunEnd } from './protocol.ts'

/** The chart of a machine, with everything that the page would otherwise have to know about its states. */
export const chartView = (machine: Charted): ChartView => {
  const chart = describeMachine(machine)
  const ends = chart.states.flatMap(({ id, key, type }) => {
    const status = type === 'final' ? endStatus(key) : undefined
    return status ? [[id, status] as const] : []
  })
  return { ...chart, ends: Object.fromEntries(ends) }
}

const runEnds: Record<AgentOutput['status'], true> = { complete: true, failed: true, aborted: true }

/** The status of a run that ends in a state: the final states of all charts of runs are named after it. */
const endStatus = (key: string): RunEnd | undefined =>
  Object.keys(runEnds).find((status): status is RunEnd => status === key.toLowerCase())

/** The active states of a snapshot, the outermost first. A machine that is not known has no states. */
export const activeStates = (machine: Charted | null, snapshot: unknown): ChartNode[] =>
  machine ? [machine.root, ...statesOf(machine.root, snapshot)] : []

/** The states below the machine. A stored run may belong to another chart than the one it is shown in: then a run inside it counts. */
const statesOf = (root: ChartNode, snapshot: unknown): ChartNode[] => {
  const { value, children }: { value?: unknown; children?: unknown } = Object(snapshot)
  const own = statesBelow(root, value)
  if (own.length > 0) return own
  const inner = Object.values(Object(children)).map((child) => statesOf(root, Object(child).snapshot))
  return inner.find((states) => states.length > 0) ?? []
}

const statesBelow = (node: ChartNode, value: unknown): ChartNode[] => {
  const inner = typeof value === 'string' ? [[value, undefined] as const] : Object.entries(Object(value))
  return inner.flatMap(([key, below]) => {
    const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined
    return child ? [child, ...statesBelow(child, below)] : []
  })
}

/** The work that the lifecycle chart does with each of its children. */
const activities: Readonly<Record<string, Activity>> = {
  model: 'asking',
  toolExecutor: 'working',
  summariser: 'compacting',
  timer: 'pausing',
}

/** The activity of a snapshot: by its final state, by the tags of its states, or by the children that run in them. */
export const activityOf = (machine: Charted | null, snapshot: Snapshot<unknown> | null): Activity => {
  const active = activeStates(machine, snapshot)
  const innermost = active.at(-1)
  if (innermost?.type === 'final') return endStatus(innermost.key) ?? ''
  const tags = active.flatMap((state) => state.tags)
  if (tags.includes('waiting')) return 'waiting'
  const { context, value }: { context?: unknown; value?: unknown } = Object(snapshot)
  if (!isRun(context)) return ''
  if (tags.includes('streaming')) return 'streaming'
  if (factsOf(value)?.isHeld) return 'pausing'
  const [child = ''] = factsOf(value)?.children.always ?? []
  return activities[child] ?? ''
}

/** The transition that the chart has for one more read: reads on the fast path are not microsteps, but they count. */
export const readTransition = (machine: Charted | null, snapshot: unknown): string | undefined => {
  const own = activeStates(machine, snapshot).flatMap((state) => state.transitions.get('model.deltas') ?? [])
  const plain = own.find(({ guard, target }) => !guard && !target)
  return plain && nameOf(plain)
}

/** Recognises machines of any copy of XState. */
export const isCharted = (logic: unknown): logic is Charted =>
  typeof logic === 'object' && logic !== null && 'root' in logic && 'config' in logic

/** The chart of an agent's run. It does not depend on the model; any model will do. */
export const lifecycleChart = (): AnyStateMachine =>
  createChart({ model: findProvider('openai').chatModel(undefined, {}) })
