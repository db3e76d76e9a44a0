import type { AnyStateMachine } from 'xstate'
import { ConfigurationError } from '../messages/errors.ts'
import { nearest } from '../messages/optionNames.ts'
import type { PolicyModel } from './policyModel.ts'

// What a run may ask a policy about: its prompt, calls, the ends of calls that have passed, and its answer.

/** A call of a tool, by its place in the list, that begins or ends. */
export type CallChange = { tool: number; by: 1 | -1 }

/** An item that a run may ask about. `change`: what is done to the calls of a tool if it passes. */
export type Item = {
  event: string
  refused: string | null
  kind: 'ask' | 'show' | 'look' | 'report'
  change?: CallChange
}

/** The number of calls of each tool after one has begun or ended. */
export const changedBy = (open: readonly number[], { tool, by }: CallChange): number[] =>
  open.map((count, index) => (index === tool ? count + by : count))

const mentions = ({ events }: AnyStateMachine, type: string): boolean =>
  (events as readonly string[]).some((descriptor) => isMatch(descriptor, type))

const isMatch = (descriptor: string, type: string): boolean => {
  if (descriptor === type || descriptor === '*') return true
  const prefix = descriptor.slice(0, -2)
  return descriptor.endsWith('.*') && (type === prefix || type.startsWith(`${prefix}.`))
}

const ends = ['done', 'failed', 'started', 'approved', 'rejected'] as const

/** The most tools whose calls are counted: each more makes three times as many states. */
const mostCounted = 4

/**
 * Counts the calls that have passed and have no end: none, one, or more. Where the ends of too many tools are mentioned, or
 * those of a tool are not, it only remembers that there was a call.
 */
export class CallCounts {
  readonly #most: readonly number[]

  constructor(machine: AnyStateMachine, tools: readonly string[]) {
    const hasEnds = tools.map((tool) =>
      [...ends, 'refused'].some((end) => mentions(machine, `${tool}.${end}`)),
    )
    const isCounted = hasEnds.filter(Boolean).length <= mostCounted
    this.#most = hasEnds.map((each) => (each && isCounted ? 2 : 1))
  }

  /** Says what the counts may be after a change. */
  after(open: readonly number[], change: CallChange | undefined): (readonly number[])[] {
    if (!change) return [open]
    const most = this.#most[change.tool] ?? 1
    const count = open[change.tool] ?? 0
    if (change.by === 1) return [count < most ? changedBy(open, change) : open]
    if (most === 1) return [open]
    return count < most ? [changedBy(open, change)] : [changedBy(open, change), open]
  }
}

/** The items that a run may ask about next. Results come only of calls that have passed. */
export const itemsFor = (
  machine: AnyStateMachine,
  tools: readonly string[],
  { open }: { open: readonly number[] },
): Item[] => {
  const reports = (tool: string, index: number): Item[] =>
    ends.flatMap((end): Item[] => {
      if (end === 'started' && !mentions(machine, `${tool}.started`)) return []
      const kind = end === 'approved' || end === 'rejected' ? 'report' : 'show'
      const isEnd = end !== 'started' && end !== 'approved'
      return [
        {
          event: `${tool}.${end}`,
          kind,
          refused: kind === 'show' ? `${tool}.refused` : null,
          ...(isEnd && { change: { tool: index, by: -1 } }),
        },
      ]
    })
  return [
    ...(mentions(machine, 'prompt') ? [{ event: 'prompt', kind: 'ask', refused: null } as const] : []),
    ...(mentions(machine, 'steer')
      ? [{ event: 'steer', kind: 'ask', refused: 'steer.refused' } as const]
      : []),
    ...tools.flatMap((tool, index): Item[] => [
      {
        event: `${tool}.call`,
        // What happens to one that no state mentions is for the option `others`, which may allow it.
        kind: mentions(machine, `${tool}.call`) ? 'ask' : 'look',
        refused: `${tool}.refused`,
        change: { tool: index, by: 1 },
      },
      ...((open[index] ?? 0) > 0 ? reports(tool, index) : []),
    ]),
    { event: 'answer', kind: mentions(machine, 'answer') ? 'ask' : 'look', refused: 'answer.refused' },
  ]
}

/** The events of the run and of its tools. */
const eventsOf = (tools: readonly string[]): string[] => [
  ...['prompt', 'answer', 'answer.refused', 'steer', 'steer.refused'],
  ...tools.flatMap((tool) => ['call', 'refused', ...ends].map((end) => `${tool}.${end}`)),
]

/** Notes on events that nothing here sends: those of tools that are not listed, and those of checks and actions. */
export const strangers = (
  { events }: AnyStateMachine,
  { raised }: PolicyModel,
  tools: readonly string[],
): string[] => {
  const known = [...eventsOf(tools), ...raised]
  return (events as readonly string[])
    .filter(
      (type) => type !== '*' && !type.startsWith('xstate.') && !known.some((each) => isMatch(type, each)),
    )
    .map((type) => `'${type}' is not followed: it is of no tool in "tools", and no action raises it`)
}

/** The events that claims may ask for. One that its actions raise is a part of the step that raised it. */
export class StepEvents {
  readonly #tools: readonly string[]
  readonly #known: ReadonlySet<string>

  constructor({ own }: PolicyModel, tools: readonly string[]) {
    this.#tools = tools
    this.#known = new Set([...eventsOf(tools), ...own.map(({ label }) => label)])
  }

  /** Refuses an event that no step has: a claim about it would count as proved. */
  check(name: string, event: string): void {
    if (this.#known.has(event.replace(/ (asked|refused)$/, ''))) return
    const similar = nearest(event, [...this.#known])
    throw new ConfigurationError(
      `${name} asks for "${event}", an event that no step has: ${similar ? `did you mean "${similar}"?` : 'it is of no tool in "tools".'}`,
    )
  }

  /** Refuses a claim whose text compares its event with one that no step has, or names one as events of tools are named. */
  checkText(name: string, claim: unknown): void {
    const text = String(claim)
    const compared = text.matchAll(/\bevent\s*[!=]==?\s*(['"`])([^'"`$\\]*)\1/g)
    const written = text.matchAll(/(['"`])([^'"`$\\\s]+)\1/g)
    for (const [, , event = ''] of compared) this.check(name, event)
    for (const [, , event = ''] of written) if (this.#isOfTool(event)) this.check(name, event)
  }

  #isOfTool(event: string): boolean {
    const [, end] = /\.(\w+)$/.exec(event) ?? []
    return isEnd(end) || this.#tools.some((tool) => end !== undefined && event === `${tool}.${end}`)
  }
}

const isEnd = (end: string | undefined): boolean => ['call', 'refused', ...ends].some((each) => each === end)
