import type { ChartNode } from './transitions.ts'

/** An event as a person reads it: `done: model`, `after 1 s`; nothing for `always`. */
export const eventLabel = (event: string, source: ChartNode): string => {
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

/** The id a person gave; XState's own `0.machine.state` says less than the source. */
export const invokeName = ({ id, src }: { id: string; src: unknown }): string => {
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
export const guardLabel = (guard: unknown): string => {
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
export const actionLabel = (action: unknown): string => {
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
