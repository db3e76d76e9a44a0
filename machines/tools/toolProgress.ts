import type { AnyActorRef, Snapshot } from 'xstate'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { appended, countOf, type Batches } from '../../src/messages/growing.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { PendingCall, Usage } from '../../src/messages/result.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult } from '../../src/tools/toolResult.ts'
import type { AgentCommand } from '../agent/events.ts'
import * as is from '../stored/shape.ts'

/** The calls of one turn, and the ids of the run and of the round they belong to. */
export type ToolServiceInput = {
  calls: ToolCallPart[]
  run: string
  round: string
  /** How often each was cut off by the end of its process. */
  interruptions: { [callId: string]: number }
  /** The stored runs of sub-agents to continue. */
  runs: { [callId: string]: Snapshot<unknown> }
}

/** Their results, in call order; `usage`: what is not yet reported of what the tools used of models. */
export type ToolServiceOutput = { results: ToolResultPart[]; usage?: Usage }

/** The progress of the calls of a turn. Stored as JSON with the run. */
export type ToolServiceSnapshot = Snapshot<ToolServiceOutput> &
  Omit<ToolServiceInput, 'runs'> & {
    /** Ids of the calls that may have taken effect. */
    begun: Batches<string>
    results: Batches<ToolResultPart>
    /** Restored calls that a person must decide on before anything continues. */
    inDoubt: string[]
    /** The runs of sub-agents, by call id: as an actor, or as it was stored. */
    runs: { [callId: string]: AnyActorRef | Snapshot<unknown> }
    /** What those runs wait for, by call id. */
    waiting: { [callId: string]: PendingCall[] }
    /** Commands for a stored run that is not there again yet. */
    commands: { [callId: string]: Extract<AgentCommand, { callId: string }>[] }
  }

/** Whether a snapshot is that of a tool executor. */
export const isToolProgress = (snapshot: unknown): snapshot is ToolServiceSnapshot =>
  isJsonObject(snapshot) &&
  Array.isArray(snapshot.calls) &&
  Array.isArray(snapshot.begun) &&
  isJsonObject(snapshot.waiting)

/** The same without how it ended. */
export type ToolProgress = Omit<ToolServiceSnapshot, 'status' | 'output' | 'error'>

export const noProgress = (input: ToolServiceInput): ToolProgress => ({
  ...input,
  begun: [],
  results: [],
  inDoubt: [],
  waiting: {},
  commands: {},
})

/** As many calls begin as may run at once; when all have their results, the turn is over. */
export const progressed = (progress: ToolProgress, atOnce: number, usage?: Usage): ToolServiceSnapshot => {
  const { calls, begun, results } = progress
  const first = countOf(begun)
  const done = countOf(results)
  const begins = calls.slice(first, done + atOnce).map(({ id }) => id)
  const next = { ...progress, begun: appended(begun, begins) }
  if (done < calls.length) return { ...next, status: 'active', output: undefined, error: undefined }
  const byId = new Map(results.flat().map((result) => [result.id, result]))
  const ordered = calls.flatMap(({ id }) => byId.get(id) ?? [])
  return { ...next, status: 'done', output: { results: ordered, ...(usage && { usage }) }, error: undefined }
}

/** With the result of a call, of which nothing else is left. */
export const withResult = (progress: ToolProgress, result: ToolResultPart): ToolProgress => ({
  ...progress,
  results: appended(progress.results, [result]),
  runs: without(progress.runs, result.id),
  waiting: without(progress.waiting, result.id),
  commands: without(progress.commands, result.id),
})

const without = <T>(record: { [id: string]: T }, id: string): { [id: string]: T } => {
  if (!Object.hasOwn(record, id)) return record
  const { [id]: _, ...rest } = record
  return rest
}

/** Calls begin in their order, so those that have begun are the first ones. */
export const unfinished = ({ calls, begun, results }: ToolProgress): ToolCallPart[] => {
  const answered = new Set(results.flat().map(({ id }) => id))
  return calls.slice(0, countOf(begun)).filter(({ id }) => !answered.has(id))
}

/** What the turn waits for: nothing while anything is at work. What is decided on already is not waited for. */
export const waitsFor = (progress: ToolProgress): PendingCall[] => {
  const open = unfinished(progress).map(({ id }) => {
    const decided = new Set(ownOf(progress.commands, id)?.map(({ callId }) => `${id}/${callId}`))
    return (ownOf(progress.waiting, id) ?? []).filter((call) => !decided.has(call.id))
  })
  return open.every((calls) => calls.length > 0) ? open.flat() : []
}

export const ownOf = <T>(record: { [id: string]: T }, id: string): T | undefined =>
  Object.hasOwn(record, id) ? record[id] : undefined

/** The calls of a sub-agent as the whole run speaks of them: below the call that runs it. */
export const below = (callId: string, calls: readonly PendingCall[]): PendingCall[] =>
  calls.map((call) => ({ ...call, id: `${callId}/${call.id}` }))

/** The call whose run a command is meant for, and what the call that it names is called there. */
export const addressed = ({ calls }: Pick<ToolProgress, 'calls'>, callId: string) => {
  const call = calls.find(({ id }) => callId.startsWith(`${id}/`))
  return call && { id: call.id, inner: callId.slice(call.id.length + 1) }
}

/**
 * A call that had begun when the run was stored, and has no result, is in doubt: there is no way to know whether it
 * took effect. Its tool says what happens to it.
 */
export const resumed = (
  stored: ToolServiceSnapshot,
  tools: ReadonlyMap<string, Pick<Tool, 'onInterrupted'>>,
): ToolProgress => {
  const progress = checked(stored)
  const { interruptions, inDoubt } = progress
  const open = unfinished(progress).filter(({ id }) => !inDoubt.includes(id))
  // A call whose arguments could not be read never ran.
  const fate = ({ name, argumentsError }: ToolCallPart) =>
    argumentsError === undefined ? (tools.get(name)?.onInterrupted ?? 'unknown') : 'rerun'
  const again = open.filter((call) => fate(call) !== 'unknown')
  const lost = open.filter((call) => fate(call) === 'unknown').map(unknownEffect)
  return {
    ...lost.reduce(withResult, progress),
    interruptions: {
      ...interruptions,
      ...Object.fromEntries(again.map(({ id }) => [id, (ownOf(interruptions, id) ?? 0) + 1])),
    },
    inDoubt: [...inDoubt, ...open.filter((call) => fate(call) === 'ask').map(({ id }) => id)],
  }
}

export const unknownEffect = (call: ToolCallPart): ToolResultPart =>
  errorResult(
    call,
    'The process ended while this tool was running; whether it took effect is unknown. Find out before you call it again.',
  )

const progressShape = is.fields({
  status: is.oneOf('active', 'done'),
  calls: is.listOf(is.part('toolCall')),
  run: is.text,
  round: is.text,
  begun: is.runsOf(is.text),
  results: is.runsOf(is.part('toolResult')),
  interruptions: is.recordOf(is.count),
  inDoubt: is.listOf(is.text),
  runs: is.recordOf(is.object),
  waiting: is.recordOf(is.listOf(is.part('toolCall'))),
  commands: is.recordOf(is.listOf(is.fields({ type: is.text, callId: is.text }))),
})

/** Calls begin in their order, each once, and only those that have begun have a result. */
const checked = (stored: ToolServiceSnapshot): ToolServiceSnapshot => {
  const flaw = progressShape('', stored)
  if (flaw) throw new ConfigurationError(`The stored tool executor cannot continue: ${flaw}`)
  const { calls, inDoubt, runs, waiting, commands } = stored
  const [begun, results] = [stored.begun.flat(), stored.results.flat()]
  const isInOrder = begun.every((id, index) => calls[index]?.id === id)
  const answered = new Set(results.map(({ id }) => id))
  const hasBegun = new Set(begun)
  const isAnswered = results.every(({ id }) => hasBegun.has(id)) && answered.size === results.length
  const isOpen = (id: string) => hasBegun.has(id) && !answered.has(id)
  const open = [inDoubt, Object.keys(runs), Object.keys(waiting), Object.keys(commands)].flat()
  const isDone = results.length === calls.length
  if (!isInOrder || !isAnswered || !open.every(isOpen) || isDone !== (stored.status === 'done'))
    throw new ConfigurationError(
      'The stored tool executor cannot continue: its calls and results do not fit.',
    )
  return stored
}
