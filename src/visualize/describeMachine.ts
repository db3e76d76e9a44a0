import type { AnyTransitionDefinition } from 'xstate'
import { actionLabel, eventLabel, guardLabel, invokeName } from './labels.ts'
import { type Charted, type ChartNode, nodesOf, transitionsOf } from './transitions.ts'

/** A machine as plain JSON: what a picture, a page or a tool needs to know of it. */
export type ChartDescription = { id: string; states: ChartState[]; transitions: ChartTransition[] }

/** A state of a chart; the machine itself is the first. */
export type ChartState = {
  id: string
  key: string
  /** The state around it; null for the machine itself, which is the first of the states. */
  parent: string | null
  type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history'
  /** Whether its parent starts here. */
  initial: boolean
  description?: string
  /** Of a history state. */
  history?: 'shallow' | 'deep'
  tags: string[]
  /** `label` is the id, or the source of a child without its own id. */
  invokes: { id: string; src: string; label: string }[]
  entry: string[]
  exit: string[]
}

/** One transition: each alternative of an event counts separately. */
export type ChartTransition = {
  /** As `TransitionCoverage` counts it. */
  name: string
  source: string
  /** None when the state is not left. */
  targets: string[]
  /** The type of the event; empty for `always`. */
  event: string
  /** The event as a person reads it: `done: model`, `after 1 s`; empty for `always`. */
  label: string
  guard?: string
  description?: string
  actions: string[]
  /** `internal`: only actions, nothing is left; `reenter`: leaves and enters even what would stay active. */
  kind: 'internal' | 'external' | 'reenter'
}

/**
 * Describes any XState machine as plain JSON: its states, and every transition by itself.
 *
 * @example
 * const { states, transitions } = describeMachine(agent.machine)
 * transitions.find(({ event }) => event === 'abort')?.targets // ['agent.Aborted']
 */
export const describeMachine = (machine: Charted): ChartDescription => ({
  id: machine.id,
  states: nodesOf(machine.root).map(describeState),
  transitions: [...transitionsOf(machine)].map(describeTransition),
})

const describeState = (node: ChartNode): ChartState => ({
  id: node.id,
  key: node.parent ? node.key : node.id,
  parent: node.parent?.id ?? null,
  type: node.type,
  initial: node.parent?.type === 'compound' && node.parent.initial.target.includes(node),
  ...(node.description !== undefined && { description: node.description }),
  ...(node.type === 'history' && { history: node.history || 'shallow' }),
  tags: [...node.tags],
  invokes: node.invoke.map((invoke) => ({
    id: invoke.id,
    src: String(invoke.src),
    label: invokeName(invoke),
  })),
  entry: node.entry.filter(isWritten).map(actionLabel),
  exit: node.exit.filter(isWritten).map(actionLabel),
})

/** Not one of those that XState adds for `after`. */
const isWritten = (action: unknown): boolean => {
  if (typeof action !== 'function') return true
  const id = 'sendId' in action ? action.sendId : 'id' in action ? action.id : undefined
  return typeof id !== 'string' || !id.startsWith('xstate.after.')
}

const describeTransition = ([name, transition]: [string, AnyTransitionDefinition]): ChartTransition => {
  const { source, target, eventType, guard, reenter, actions, description } = transition
  const targets = (target ?? []).map(({ id }) => id)
  return {
    name,
    source: source.id,
    targets,
    event: eventType,
    label: eventLabel(eventType, source),
    ...(guard !== undefined && { guard: guardLabel(guard) }),
    ...(description !== undefined && { description }),
    actions: actions.map(actionLabel),
    kind: targets.length === 0 ? 'internal' : reenter ? 'reenter' : 'external',
  }
}
