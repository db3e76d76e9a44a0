import type { Snapshot } from 'xstate'
import { toolCallsOf, toolResultsOf } from '../messages/messages.ts'
import { type ActorRecord, isRunData } from './ActorRecord.ts'
import { imagesIn } from './messageRow.ts'
import { readable } from './readable.ts'
import type { ToolRow, ToolStatus } from './wire.ts'

/** The tool calls of an agent's run as a snapshot of it knows them. */
export const toolRows = (
  record: ActorRecord,
  snapshot: Snapshot<unknown> | null,
  secrets: readonly string[],
  childOf: (callId: string) => number | null,
  asOf = Number.POSITIVE_INFINITY,
): ToolRow[] => {
  const { context } = (snapshot ?? {}) as { context?: unknown }
  if (!isRunData(context)) return []
  const { messages } = context
  const { results, pendingApprovals } = context.round
  const started = new Set(context.round.started.flat())
  const answers = new Map(
    [...messages.flatMap(toolResultsOf), ...results.flat()].map((result) => [result.id, result]),
  )
  return messages.flatMap(toolCallsOf).map((call): ToolRow => {
    const answer = answers.get(call.id)
    const times = record.toolTimes.get(call.id)
    const status: ToolStatus = answer
      ? answer.isError
        ? 'failed'
        : 'done'
      : pendingApprovals.includes(call.id)
        ? 'pending'
        : started.has(call.id)
          ? 'running'
          : 'waiting'
    return {
      owner: record.id,
      callId: call.id,
      name: call.name,
      arguments: readable(call.argumentsError === undefined ? call.arguments : call.argumentsRaw, secrets),
      status,
      startedAt: status === 'waiting' || status === 'pending' ? null : (times?.startedAt ?? null),
      endedAt: answer ? (times?.endedAt ?? null) : null,
      result: answer ? String(readable(answer.result, secrets)) : null,
      images: imagesIn(answer?.parts ?? []),
      isRejected: answer?.rejected === true,
      progress: (record.toolProgress.get(call.id) ?? [])
        .filter(({ seq }) => seq <= asOf)
        .map(({ value }) => readable(value, secrets)),
      isInDoubt: context.round.inDoubt.includes(call.id),
      child: childOf(call.id),
    }
  })
}
