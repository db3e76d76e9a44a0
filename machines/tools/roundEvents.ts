import type { ToolCallPart } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import { askEvent, callEvent, resultEvent } from '../agent/announcements.ts'
import type { AgentEmitted } from '../agent/events.ts'
import { type StreamingState, withUsage } from '../agent/streamingState.ts'
import { callInput, isAnnounced, type RoundStep } from './round.ts'
import type { ToolServiceEvent } from './toolService.ts'

/** The part of XState's `enqueue` that a step of the round needs. */
type Enqueue = {
  assign(change: Partial<StreamingState>): void
  emit(event: AgentEmitted): void
  sendTo(target: 'toolExecutor', event: ToolServiceEvent): void
}

/**
 * Takes a step of the round: its data first, so that it is stored before anything follows from it; then listeners get the
 * results, the calls that start and the calls that are asked about; then the executor runs the calls.
 */
export const takeStep = (enqueue: Enqueue, before: StreamingState, step: RoundStep, usage?: Usage): void => {
  noteStep(enqueue, before, step, usage)
  const state = { ...before, round: step.round }
  if (step.calls.length > 0) enqueue.sendTo('toolExecutor', runEvent(state, step.calls))
}

/** Takes a step of the round where the executor is not there yet. */
export const noteStep = (
  enqueue: Omit<Enqueue, 'sendTo'>,
  before: StreamingState,
  { round, results, calls, asked }: RoundStep,
  usage?: Usage,
): void => {
  const state = { ...before, round, totals: withUsage(before.totals, usage ?? null) }
  enqueue.assign({ round, totals: state.totals })
  for (const result of results) enqueue.emit(resultEvent(result))
  for (const call of calls) if (!isAnnounced(state, call)) enqueue.emit(callEvent(call))
  for (const call of asked) enqueue.emit(askEvent(call))
}

/** Makes the executor run calls. */
export const runEvent = (state: StreamingState, calls: readonly ToolCallPart[]): ToolServiceEvent => ({
  type: 'calls.run',
  calls: calls.map((call) => callInput(state, call)),
})
