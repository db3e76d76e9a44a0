import type { AgentInput } from '../../machines/agent/events.ts'
import { messagesIn } from '../../machines/tools/pendingCalls.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { type ChatMessage, textPart, toolCallsOf } from '../messages/messages.ts'
import { newId } from '../model/newId.ts'
import { isRunData } from './ActorRecord.ts'
import type { Attempt } from './Attempt.ts'
import { conversationBefore } from './conversation.ts'
import { isSaid } from './messageRow.ts'
import { Refusal } from './requests.ts'
import { messagesAt } from './rows.ts'
import type { StoredAttempt } from './StoredAttempt.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'

/** What a new run begins with: the conversation of a run, as it is, as it was, or up to a message; and a new prompt. */
export const nextInput = (record: Subject, { prompt, seq, before }: JsonObject): AgentInput => {
  if (typeof prompt !== 'string' || prompt.trim() === '') throw new Refusal(400, 'Write a question first.')
  const { context } = (record.snapshot ?? {}) as { context?: unknown }
  const history = conversationBefore(record, context)
  const own = typeof before === 'number' ? null : messagesOf(record, seq)
  const { messages, attached } = own ? { messages: own, attached: [] } : upTo(record, before)
  return {
    ...settingsOf(context),
    id: newId(),
    prompt: [...attached, textPart(prompt)],
    history: [...history, ...messages],
  }
}

/** What the run was given beside its prompt. A typed answer is not asked for again: the page shows text. */
const settingsOf = (context: unknown): Partial<AgentInput> => {
  const { input }: { input?: unknown } = Object(context)
  const given = isRunData(context) ? context.options : isJsonObject(input) ? (input as AgentInput) : {}
  const { system, settings, limits } = given
  return {
    ...(typeof system === 'string' && { system }),
    ...(settings && { settings }),
    ...(limits && { limits }),
  }
}

/** What the run had said by a moment, up to the last answer that is whole. */
const messagesOf = (record: Subject, seq: unknown): ChatMessage[] => {
  const moment = typeof seq === 'number' && record.moments.findLast((each) => each.seq <= seq)
  const messages = messagesIn(moment ? moment.snapshot : record.snapshot)
  const end = messages.findLastIndex((each) => each.role === 'model' && toolCallsOf(each).length === 0)
  return messages.slice(0, end + 1)
}

/** What came before the message that an attempt answers, and what was attached to that. */
const upTo = (record: Subject, index: unknown) => {
  const attempts: readonly (Attempt | StoredAttempt)[] = record.attempts
  const attempt = attempts[Number(index)]
  if (!attempt) throw new Refusal(404, 'This message is not known.')
  const messages = record instanceof StoredRecord ? record.messages : messagesAt(attempt)
  const last = attempts.slice(0, Number(index)).findLast(({ owner }) => owner === attempt.owner)
  const at = messages.findIndex((each, place) => place >= (last?.before ?? 0) && isSaid(each))
  const parts = messages[at]?.parts ?? []
  if (parts.some(({ type }) => type === 'toolResult'))
    throw new Refusal(409, 'This message came with results of tools: edit the first one instead.')
  const isOwn = attempt.owner === record.id
  return {
    messages: isOwn ? messages.slice(0, Math.max(0, at)) : [],
    attached: parts.filter(({ type }) => type !== 'text'),
  }
}
