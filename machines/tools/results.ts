import { lastSaid } from '../../src/messages/compaction.ts'
import { describeThrown } from '../../src/messages/errors.ts'
import { appended } from '../../src/messages/growing.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  textPart,
  toolResultsOf,
} from '../../src/messages/messages.ts'
import { asToolResult, errorResult, toolResultOf } from '../../src/tools/toolResult.ts'
import type { AgentCommand } from '../agent/events.ts'
import type { Steer, StreamingState } from '../agent/streamingState.ts'
import { callsToRun, currentCalls } from './round.ts'

/** The results of the round that has just ended. */
const lastResults = (state: StreamingState): ToolResultPart[] => {
  const last = lastSaid(state.history)
  return last ? toolResultsOf(last) : []
}

export const isAfterTools = (state: StreamingState): boolean => lastResults(state).length > 0

export const rejectedResult = (
  state: StreamingState,
  callId: string,
  reason = 'no reason given',
): ToolResultPart => ({
  ...errorResult(
    namedCall(state, callId),
    state.round.inDoubt.includes(callId)
      ? `The process ended while this tool was running; a person marked it as failed: ${describeThrown(reason)}`
      : `A person rejected this call: ${describeThrown(reason)}`,
  ),
  rejected: true,
})

/** A result that came from outside. It may be made of anything. */
export const answeredResult = (
  state: StreamingState,
  { callId, result, isError }: Extract<AgentCommand, { type: 'tool.answer' }>,
): ToolResultPart => {
  const call = namedCall(state, callId)
  try {
    return { ...toolResultOf(call, result), ...(isError === true && { isError }) }
  } catch (thrown) {
    return errorResult(call, `The answer cannot be used: ${describeThrown(thrown)}`)
  }
}

const namedCall = (state: StreamingState, callId: string): { id: string; name: string } => {
  const call = currentCalls(state).find(({ id }) => id === callId)
  return { id: callId, name: call?.name ?? '' }
}

/** A result for each call that has to run: an executor that a user provides may forget some, and invent others. */
export const allResults = (state: StreamingState, given: readonly ToolResultPart[]): ToolResultPart[] => {
  const known = new Map(given.map((result) => [result?.id, result]))
  return callsToRun(state).map((call) => asToolResult(call, known.get(call.id)))
}

/** The one user message that answers a round: every result, in call order, then steering messages, and a note. */
export const resultMessage = (state: StreamingState, note?: string): ChatMessage => {
  const results = new Map(state.round.results.flat().map((result) => [result.id, result]))
  const calls = currentCalls(state)
  const missing = missingResult(state)
  return {
    role: 'user',
    parts: [
      ...calls.map((call) => results.get(call.id) ?? missing(call)),
      ...calls.flatMap(({ id, name }) =>
        Object.hasOwn(state.round.edited, id) ? [textPart(editNote(name, state.round.edited[id]))] : [],
      ),
      ...dueTexts(state).map(textPart),
      ...(note === undefined ? [] : [textPart(note)]),
    ],
  }
}

/** The history keeps what the model asked for, so it must also say that something else ran. */
const editNote = (name: string, args: unknown): string =>
  `A person changed the arguments of the call to "${name}" before it ran: ${JSON.stringify(args)}`

/** The honest answer for a call that was cut short: it never ran, or its effect is unknown. */
export const missingResult = ({ round }: StreamingState): ((call: ToolCallPart) => ToolResultPart) => {
  // One that was cut off by the end of its process has to be started again, but may have taken effect.
  const started = new Set([...round.started.flat(), ...Object.keys(round.interruptions)])
  return (call) =>
    errorResult(
      call,
      started.has(call.id)
        ? 'The run was interrupted while this tool was running; whether it took effect is unknown.'
        : 'The run was interrupted before this tool started; it was not run.',
    )
}

/** True once a tool that ends the run has succeeded. */
export const isRunEnded = (state: StreamingState): boolean => {
  const { ending } = state.round
  return lastResults(state).some(({ id, isError }) => !isError && ending.includes(id))
}

/** The texts that the next message to the model takes. */
export const dueTexts = ({ steering }: StreamingState): string[] =>
  steering.flat().filter((each) => typeof each === 'string')

/** The texts that wait until the run is idle. */
const idleTexts = ({ steering }: StreamingState): Exclude<Steer, string>[] =>
  steering.flat().filter((each) => typeof each !== 'string')

/** Texts that are left after those that were due, or, where none was due, after the first one for the idle run. */
export const laterSteering = (state: StreamingState, isIdle = false): StreamingState['steering'] => {
  const taken = isIdle && dueTexts(state).length === 0 ? 1 : 0
  return appended<Steer>([], idleTexts(state).slice(taken))
}

/** The message of a run that has nothing else to do: the texts that are due, or else the next one that waited for this. */
export const steeringMessage = (state: StreamingState): ChatMessage => {
  const due = dueTexts(state)
  const [next] = idleTexts(state)
  if (due.length > 0 || !next) return { role: 'user', parts: due.map(textPart) }
  const { idle, metadata } = next
  return { role: 'user', parts: [textPart(idle)], ...(metadata && { metadata }) }
}

/** All texts that a run has not shown its model, at its end. */
export const unseenTexts = (state: StreamingState): ChatMessage => ({
  role: 'user',
  parts: [...dueTexts(state), ...idleTexts(state).map(({ idle }) => idle)].map(textPart),
})
