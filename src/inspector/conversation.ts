import type { AgentInput } from '../../machines/agent/events.ts'
import { isRun, messagesIn } from '../../machines/tools/pendingCalls.ts'
import { policyAfter } from '../durable/conversation.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { isMessage } from '../messages/messageFlaw.ts'
import {
  type ChatMessage,
  type DataPart,
  type Part,
  textOf,
  textPart,
  toolCallsOf,
} from '../messages/messages.ts'
import { newId } from '../model/newId.ts'
import { ActorRecord, historyOf } from './ActorRecord.ts'
import { Attempt, type StoredAttempt } from './Attempt.ts'
import { answerVerdicts } from './policyRows.ts'
import type { AttemptRow, ImageRow, MessageRow } from './protocol.ts'
import type { Recorder } from './Recorder.ts'
import { brief, readable } from './readable.ts'
import { Refusal } from './requests.ts'
import type { Subject } from './StoredRecord.ts'
import { hideSecrets } from './secrets.ts'

/** An attempt without its text, which grows. */
export const attemptRow = (
  recorder: Recorder,
  attempt: Attempt | StoredAttempt,
  index: number,
): Omit<AttemptRow, 'text' | 'thinking' | 'asked'> => {
  const { owner, facts, endedAt, compaction, isVoid, warnings, drafts, call, calls } = attempt
  const { secrets } = recorder
  return {
    index,
    owner,
    ...facts,
    failure: hideSecrets(facts.failure, secrets).slice(0, 500),
    endedAt,
    compaction,
    isVoid,
    warnings: [...warnings],
    drafts: drafts.filter((draft) => draft !== undefined),
    call: call && { id: call.id, status: call.exchanges.at(-1)?.status ?? null },
    verdicts: answerVerdicts(recorder, attempt, secrets),
    calls: [...calls],
  }
}

/** The messages of a person between an attempt and the one before it. */
export const askedBefore = (record: Subject, index: number, secrets: readonly string[]): MessageRow[] => {
  const attempts: readonly (Attempt | StoredAttempt)[] = record.attempts
  const attempt = attempts[index]
  if (!attempt) return []
  const last = attempts.slice(0, index).findLast(({ owner }) => owner === attempt.owner)
  return messagesAt(attempt)
    .slice(last?.before ?? 0, attempt.before)
    .filter(isSaid)
    .map((each) => messageRow(each, secrets))
}

/** Messages of a long history that are shown: the last ones. */
const mostHistory = 200
/** Characters of each that are shown. */
const longestMessage = 4_000

/** The conversation before the run, without its pictures. */
export const historyRows = (record: Subject, secrets: readonly string[]): MessageRow[] => {
  const { context } = (record.snapshot ?? {}) as { context?: unknown }
  const history = conversationBefore(record, context)
  return history.slice(-mostHistory).map((message) => {
    const { text, ...row } = messageRow(message, secrets)
    const images = row.images.map(({ mimeType }) => `Picture: ${mimeType}`)
    const isCut = text.length > longestMessage
    return {
      ...row,
      text: isCut ? `${text.slice(0, longestMessage)} …` : text,
      images: [],
      notes: [...images, ...row.notes],
    }
  })
}

/** The messages that a run had added to the conversation by an attempt. */
const messagesAt = (attempt: Attempt | StoredAttempt): readonly ChatMessage[] =>
  attempt instanceof Attempt ? attempt.state.messages : attempt.messages

/** The conversation before a run. */
const conversationBefore = (record: Subject, context: unknown): ChatMessage[] => {
  if (record instanceof ActorRecord && record.before) return record.before
  const { input }: { input?: unknown } = Object(context)
  const given: unknown = isJsonObject(input) ? input.history : isRun(context) ? historyOf(context) : []
  return Array.isArray(given) ? given.filter(isMessage) : []
}

/** Base64 characters of a picture that is still shown. */
const largestImage = 2_000_000
const shownImages = /^image\/(?:png|jpeg|gif|webp|avif|svg\+xml)$/

/** A message as people read it. */
const messageRow = (message: ChatMessage, secrets: readonly string[]): MessageRow => ({
  role: message.role,
  text: String(readable(textOf(message), secrets)),
  images: imagesIn(message.parts),
  notes: message.parts.flatMap((part) => noteOf(part, secrets)),
})

/** The pictures among some parts that a browser can show. */
export const imagesIn = (parts: readonly Part[]): ImageRow[] =>
  parts.flatMap((part) =>
    part.type === 'data' && isShown(part) ? [{ mimeType: part.mimeType, data: part.data }] : [],
  )

/** Recognises a message of a person: results of tools are the user's messages, too. */
const isSaid = ({ role, parts }: ChatMessage): boolean =>
  role === 'user' && parts.some(({ type }) => type !== 'toolResult')

const isShown = ({ mimeType, data }: DataPart): boolean =>
  shownImages.test(mimeType) && data.length <= largestImage

const noteOf = (part: Part, secrets: readonly string[]): string[] => {
  switch (part.type) {
    case 'toolCall':
      return [`Called ${part.name} ${brief(part.arguments, secrets)}`]
    case 'toolResult':
      return [`${part.name}: ${brief(part.result, secrets)}`]
    case 'link':
      return [`Link: ${brief(part.url, secrets)}`]
    case 'data':
      return isShown(part) ? [] : [`File: ${brief(part.name ?? part.mimeType, secrets)}`]
    case 'text':
      return []
  }
}

/** The input of a new run: the conversation of another run, as it is, as it was, or up to a message; and a new prompt. */
export const nextInput = (record: Subject, { prompt, seq, before }: JsonObject): AgentInput => {
  if (typeof prompt !== 'string' || prompt.trim() === '') throw new Refusal(400, 'Write a question first.')
  const { context } = (record.snapshot ?? {}) as { context?: unknown }
  const history = conversationBefore(record, context)
  const own = typeof before === 'number' ? null : messagesBy(record, seq)
  const { messages, attached } = own ? { messages: own, attached: [] } : upTo(record, before)
  return {
    ...settingsOf(context),
    id: newId(),
    prompt: [...attached, textPart(prompt)],
    history: [...history, ...messages],
    // What the policy has seen, it has seen.
    ...policyAfter({ snapshot: record.snapshot }),
  }
}

/** The settings that the run was given beside its prompt. A typed answer is not asked for again: the page shows text. */
const settingsOf = (context: unknown): Partial<AgentInput> => {
  const { input }: { input?: unknown } = Object(context)
  const given = isRun(context) ? context.options : isJsonObject(input) ? (input as AgentInput) : {}
  const { system, settings, limits } = given
  return {
    ...(typeof system === 'string' && { system }),
    ...(settings && { settings }),
    ...(limits && { limits }),
  }
}

/** The messages of a run by a moment, up to the last answer that is whole. */
const messagesBy = (record: Subject, seq: unknown): ChatMessage[] => {
  const moment = typeof seq === 'number' && record.moments.findLast((each) => each.seq <= seq)
  const messages = messagesIn(moment ? moment.snapshot : record.snapshot)
  const end = messages.findLastIndex((each) => each.role === 'model' && toolCallsOf(each).length === 0)
  return messages.slice(0, end + 1)
}

/** The messages before the one that an attempt answers, and the attachments of that one. */
const upTo = (record: Subject, index: unknown) => {
  const attempts: readonly (Attempt | StoredAttempt)[] = record.attempts
  const attempt = attempts[Number(index)]
  if (!attempt) throw new Refusal(404, 'There is no such message.')
  const messages = messagesAt(attempt)
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
