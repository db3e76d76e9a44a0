import type { Snapshot } from 'xstate'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { noRound, type StreamingState } from '../../machines/agent/streamingState.ts'
import { copyJson, type JsonObject } from '../messages/json.ts'
import { toolCallsOf, toolResultsOf } from '../messages/messages.ts'
import { newId } from '../model/newId.ts'
import { type ActorRecord, isRunData } from './ActorRecord.ts'

/** A run as it would be if a person had to decide on this call and on all that were made with it. */
export const snapshotBefore = (record: ActorRecord, callId: string): Snapshot<unknown> | undefined => {
  for (const { snapshot } of record.moments) {
    const { context } = snapshot as { context?: unknown }
    if (!isRunData(context)) continue
    const calls = callsWith(context, callId)
    // Its messages end with the calls: none of them has run.
    if (calls.length === 0 || context.messages.at(-1)?.role !== 'model') continue
    const refused = context.round.results.flat().filter(({ id, rejected }) => id !== callId && !rejected)
    const isRefused = new Set(refused.map(({ id }) => id))
    const round = {
      ...noRound,
      id: newId(),
      external: context.round.external,
      ending: context.round.ending,
      pendingApprovals: calls.filter((id) => !isRefused.has(id)),
      results: refused.length > 0 ? [refused] : [],
    }
    const options = { ...context.options, id: newId() }
    const stored = { value: 'AwaitingApproval', historyValue: {}, children: {} }
    return {
      ...stored,
      status: 'active',
      output: undefined,
      error: undefined,
      context: copyJson({ ...context, options, round, failure: null, abortReason: '' }),
    } as Snapshot<unknown>
  }
  return undefined
}

/** The other arguments for the call; the others as they were decided on before. Those that still waited wait again. */
export const decisionsOn = (
  record: ActorRecord,
  snapshot: Snapshot<unknown>,
  callId: string,
  edited: JsonObject,
): AgentCommand[] => {
  const { context } = snapshot as Snapshot<unknown> & { context: StreamingState }
  const { context: now } = (record.snapshot ?? {}) as { context?: unknown }
  const state = isRunData(now) ? now : context
  const results = [...state.messages.flatMap(toolResultsOf), ...state.round.results.flat()]
  const rejected = new Set(results.filter((each) => each.rejected).map(({ id }) => id))
  const answered = new Set(results.map(({ id }) => id))
  return context.round.pendingApprovals.flatMap((id): AgentCommand[] => {
    if (id === callId) return [{ type: 'tool.approve', callId, arguments: edited }]
    if (rejected.has(id)) return [{ type: 'tool.reject', callId: id }]
    return answered.has(id) ? [{ type: 'tool.approve', callId: id }] : []
  })
}

/** The ids of the calls of one answer, if this one is among them. */
const callsWith = ({ messages }: StreamingState, callId: string): string[] => {
  const calls = messages.map((each) => toolCallsOf(each).map(({ id }) => id))
  return calls.find((ids) => ids.includes(callId)) ?? []
}
