import type { StreamingState } from '../../machines/agent/streamingState.ts'
import { isJsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import type { ChatMessage } from '../messages/messages.ts'
import { ActorRecord, isRunData } from './ActorRecord.ts'
import type { Subject } from './StoredRecord.ts'

/** The conversation before a run. */
export const conversationBefore = (record: Subject, context: unknown): ChatMessage[] => {
  if (record instanceof ActorRecord && record.before) return record.before
  const { input }: { input?: unknown } = Object(context)
  const given: unknown = isJsonObject(input) ? input.history : isRunData(context) ? historyOf(context) : []
  return Array.isArray(given) ? given.filter(isMessage) : []
}

/** What the run began with, by data that was not compacted yet. */
export const historyOf = ({ history, messages }: StreamingState): ChatMessage[] =>
  history.slice(0, Math.max(0, history.length - messages.length))
