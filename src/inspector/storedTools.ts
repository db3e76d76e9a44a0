import type { Snapshot } from 'xstate'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { contextsIn, messagesOf } from '../durable/standing.ts'
import { isJsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import { toolCallsOf, toolResultsOf } from '../messages/messages.ts'
import type { PendingCall } from '../messages/result.ts'
import { imagesIn } from './messageRow.ts'
import { readable } from './readable.ts'
import type { StoredRecord } from './StoredRecord.ts'
import type { ToolRow, ToolStatus } from './wire.ts'

/** The tool calls of a stored run, by a snapshot of it, or as far as its stream and its list entry tell. */
export const storedTools = (
  record: StoredRecord,
  snapshot: Snapshot<unknown> | null,
  secrets: readonly string[],
): ToolRow[] => {
  const messages = snapshot ? messagesOf(snapshot).filter(isMessage) : record.messages
  const waiting = snapshot ? pendingIn(snapshot) : record.info.pending
  const pending = waiting.filter(({ kind }) => kind !== 'limit')
  const rounds = contextsIn(snapshot).flatMap(({ round }) => (isJsonObject(round) ? [round] : []))
  const results = [...messages.flatMap(toolResultsOf), ...rounds.flatMap(({ results }) => resultsIn(results))]
  const answers = new Map(results.map((result) => [result.id, result]))
  const started = new Set(rounds.flatMap((round) => [round.started].flat(2)))
  const waits = new Map(pending.map((call) => [call.id, call]))
  const calls = new Map([...messages.flatMap(toolCallsOf), ...pending].map((call) => [call.id, call]))
  return [...calls.values()].map((call): ToolRow => {
    const answer = answers.get(call.id)
    const status = answer
      ? answer.isError
        ? 'failed'
        : 'done'
      : openStatus(waits.get(call.id), started.has(call.id))
    return {
      owner: record.id,
      callId: call.id,
      name: call.name,
      arguments: readable(call.argumentsError === undefined ? call.arguments : call.argumentsRaw, secrets),
      status,
      startedAt: null,
      endedAt: null,
      result: answer ? String(readable(answer.result, secrets)) : null,
      images: imagesIn(answer?.parts ?? []),
      isRejected: answer?.rejected === true,
      progress: [],
      isInDoubt: waits.get(call.id)?.inDoubt === true,
      child: null,
    }
  })
}

const openStatus = (wait: PendingCall | undefined, isStarted: boolean): ToolStatus => {
  if (wait?.kind === 'approval') return 'pending'
  return isStarted && !wait ? 'running' : 'waiting'
}

/** Of a round that is not over: its results are not a message yet. */
const resultsIn = (runs: unknown) => {
  const parts = [runs].flat(2)
  const message = { role: 'user', parts }
  return isMessage(message) ? toolResultsOf(message) : []
}
