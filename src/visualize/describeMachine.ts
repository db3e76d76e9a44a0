import type { AnyTransitionDefinition } from 'xstate'
import { type Charted, type ChartNode, nodesOf, transitionsOf } from './transitions.ts'

/** A machine as plain JSON: everything that a picture, a page or a tool needs. */
export type ChartDescription = { id: string; states: ChartState[]; transitions: ChartTransition[] }

/** A state of a chart; the machine itself is the first. */
export type ChartState = {
  id: string
  key: string
  /** The state around it; null for the machine itself, which is the first of the states. */
  parent: string | null
  type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history'
  /** True for the state in which its parent starts. */
  initial: boolean
  description?: string
  /** The depth of a history state. */
  history?: 'shallow' | 'deep'
  tags: string[]
  /** `label` is the id, or the source of a child without its own id. */
  invokes: { id: string; src: string; label: string }[]
  entry: string[]
  exit: string[]
}

/** A transition: each alternative of an event counts separately. */
export type ChartTransition = {
  /** The name under which `TransitionCoverage` counts it. */
  name: string
  source: string
  /** Empty if the state is not left. */
  targets: string[]
  /** The type of the event; empty for `always`. */
  event: string
  /** The event as a person reads it: `done: model`, `after 1 s`; empty for `always`. */
  label: string
  guard?: string
  description?: string
  actions: string[]
  /** `internal`: only actions, no state is left; `reenter`: leaves and enters even what would stay active. */
  kind: 'internal' | 'external' | 'reenter'
}

/**
 * Describes any XState machine as plain JSON: its states, and every transition by itself.
 *
 * @example
 * const { states, transitions } = describeMachine(agent.machine)
 * transitions.find(({ event }) => event === 'abort')?.targets // ['agent.Aborted']
 */
export const describeMachine = (machine: Charted): ChartDescription => {
  mustBeMachine(machine)
  return {
    id: machine.id,
    states: nodesOf(machine.root).map(describeState),
    transitions: [...transitionsOf(machine)].map(describeTransition),
  }
}

/** Refuses an agent, and anything else that is not a machine. */
const mustBeMachine = (machine: unknown): void => {
  const { root, machine: own } = Object(machine)
  if (typeof Object(root).states === 'object') return
  const advice = Object(own).root ? 'write agent.machine' : 'write what setup().createMachine() returned'
  throw new TypeError(`Only machines of XState can be drawn: ${advice}.`)
}

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

/** Leaves out the actions that XState adds for `after`. */
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

/** An event as a person reads it: `done: model`, `after 1 s`; nothing for `always`. */
const eventLabel = (event: string, source: ChartNode): string => {
  const [, kind, rest = ''] =
    /^xstate\.(done\.actor|error\.actor|snapshot|done\.state|after|route)(?:\.(.*))?$/s.exec(event) ?? []
  switch (kind) {
    case 'done.actor':
      return `done: ${invokeLabel(rest, source)}`
    case 'error.actor':
      return `error: ${invokeLabel(rest, source)}`
    case 'snapshot':
      return `snapshot: ${invokeLabel(rest, source)}`
    case 'done.state':
      return 'done'
    case 'after':
      return `after ${delayLabel(rest.slice(0, -source.id.length - 1))}`
    case 'route':
      return 'route'
    default:
      return event === '*' ? 'any event' : event
  }
}

/** A child without its own id is named after what it runs. */
const invokeLabel = (id: string, source: ChartNode): string => {
  const invoke = source.invoke.find((each) => each.id === id)
  return invoke ? invokeName(invoke) : id
}

/** The id that a person gave. XState's own, `0.machine.state`, says less than the source. */
const invokeName = ({ id, src }: { id: string; src: unknown }): string => {
  if (!/^\d+\./.test(id)) return id
  return typeof src === 'string' && !src.startsWith('xstate.invoke.') ? src : 'inline'
}

const units: readonly [size: number, unit: string][] = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

const delayLabel = (delay: string): string => {
  const ms = Number(delay)
  if (delay === '' || Number.isNaN(ms)) return delay
  const [size, unit] = units.find(([each]) => ms >= each) ?? [1, 'ms']
  return `${Number((ms / size).toFixed(2))} ${unit}`
}

/** A guard as a person reads it: its name with fixed parameters, and `not`, `and`, `or` in words. */
const guardLabel = (guard: unknown): string => {
  if (typeof guard === 'string') return guard
  if (typeof guard === 'function') return combined(guard)
  return named(guard)
}

const combined = (guard: object & { name?: string }): string => {
  const word = guard.name ?? ''
  if ('stateValue' in guard) return `in ${stateLabel(guard.stateValue)}`
  if (!('guards' in guard) || !Array.isArray(guard.guards)) return nameOrInline(guard, 'guard')
  const parts = guard.guards.map((each) => (isCombination(each) ? `(${guardLabel(each)})` : guardLabel(each)))
  return word === 'not' ? `not ${parts.join()}` : parts.join(` ${word} `)
}

const isCombination = (guard: unknown): boolean =>
  typeof guard === 'function' && 'guards' in guard && guard.name !== 'not'

const stateLabel = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return String(value).replace(/^#/, '')
  return Object.entries(value)
    .map(([key, inner]) => `${key}.${stateLabel(inner)}`)
    .join(' and ')
}

/** An action as a person reads it: its name, or for XState's own what it does. */
const actionLabel = (action: unknown): string => {
  if (typeof action === 'string') return action
  if (typeof action !== 'function') return named(action)
  if (!('type' in action)) return nameOrInline(action, 'actions')
  const event = 'event' in action && isTyped(action.event) ? ` ${action.event.type}` : ''
  return `${String(action.type).replace(/^xstate\./, '')}${event}`
}

const named = (value: unknown): string => {
  if (!isTyped(value)) return 'inline'
  const { type, params } = value as { type: string; params?: unknown }
  if (typeof params !== 'object' || params === null) return type
  const list = Object.entries(params).map(([name, each]) => `${name}: ${JSON.stringify(each)}`)
  return list.length > 0 ? `${type}(${list.join(', ')})` : type
}

const isTyped = (value: unknown): value is { type: string } =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** A function that is only the value of a property has that property's name, which says nothing. */
const nameOrInline = ({ name = '' }: { name?: string }, property: string): string =>
  name === '' || name === property ? 'inline' : name
