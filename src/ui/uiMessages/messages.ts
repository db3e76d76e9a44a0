import type { JsonObject, JsonValue } from '../../messages/json.ts'
import {
  type ChatMessage,
  type DataPart,
  type LinkPart,
  type ToolResultPart,
  toolResultsOf,
} from '../../messages/messages.ts'
import { checkValue, listOf, object, orWrite } from '../../messages/optionRules.ts'
import type { Usage } from '../../messages/result.ts'
import { type Source, sourcesOf } from '../sources.ts'
import { noDetails, outputOf, promptIdOf, shownErrorOf } from '../turn.ts'

/** A message of the AI SDK's hooks. */
export type UiMessage = {
  id: string
  role: 'user' | 'assistant'
  parts: JsonObject[]
  metadata?: JsonObject
}

/**
 * Turns a conversation into messages of the AI SDK, which a page begins with. Ids and metadata are the same as while
 * the page read the answers. `showError` gives the text of a tool's error; by default the page sees only that there was
 * one.
 *
 * @example const messages = uiMessagesOf(await load(chatId)) // what onFinish has saved
 */
export const uiMessagesOf = (
  history: readonly ChatMessage[],
  showError: (error: unknown) => string = noDetails,
): UiMessage[] => {
  checkValue(
    'The history of uiMessagesOf',
    history,
    orWrite(listOf(object), (value) =>
      Array.isArray(Object(value).messages) ? 'uiMessagesOf(result.messages)' : undefined,
    ),
  )
  const messages: UiMessage[] = []
  const ids = new Set<string>()
  /** The newest call of each id in the last answer: another turn may have used the same id. */
  const open = new Map<string, JsonObject>()
  /** The id that the page gave, unless it gave it twice. */
  const idOf = (message: ChatMessage, index: number): string => {
    const given = promptIdOf(message)
    const id = given === undefined || ids.has(given) ? `message-${index}` : given
    ids.add(id)
    return id
  }
  history.forEach((message, index) => {
    const results = toolResultsOf(message)
    const last = messages.at(-1)
    if (message.role === 'system') return
    if (message.role === 'user') {
      for (const result of results) {
        const call = open.get(result.id)
        if (call) Object.assign(call, outcomeOf(result, showError))
      }
      const parts = message.parts.flatMap(shownPart)
      if (parts.length === 0) return
      messages.push({ id: idOf(message, index), role: 'user', parts })
      open.clear()
      return
    }
    const shown = message.parts.flatMap(shownPart)
    const parts = [
      { type: 'step-start' },
      ...thinkingOf(message),
      ...shown,
      ...sourcesOf(message).map(sourcePart),
    ]
    // All steps of an answer are one message.
    const answer: UiMessage =
      last?.role === 'assistant'
        ? last
        : { id: last ? answerIdOf(last.id) : `message-${index}`, role: 'assistant', parts: [] }
    if (answer !== last) messages.push(answer)
    for (const part of parts) {
      answer.parts.push(part)
      if ('toolCallId' in part) open.set(String(part.toolCallId), part)
    }
    const usage = message.metadata?.usage
    if (usage !== undefined) answer.metadata = { usage }
  })
  return messages
}

/** The id of the answer to a prompt: the same while it is read and after a reload. */
export const answerIdOf = (promptId: string): string => `answer-${promptId}`

const sourcePart = (source: Source): JsonObject => ({ type: 'source-url', ...source })

const thinkingOf = ({ metadata }: ChatMessage): JsonObject[] =>
  typeof metadata?.thinking === 'string'
    ? [{ type: 'reasoning', text: metadata.thinking, state: 'done' }]
    : []

const shownPart = (part: ChatMessage['parts'][number]): JsonObject[] => {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text, state: 'done' }]
    case 'data':
    case 'link':
      return [{ type: 'file', ...fileOf(part), ...(part.name !== undefined && { filename: part.name }) }]
    case 'toolCall': {
      const call = { type: `tool-${part.name}`, toolCallId: part.id, input: part.arguments }
      return [{ ...call, state: 'input-available' }]
    }
    case 'toolResult':
      return []
  }
}

/** The address and the type of a file, which may be its own bytes. */
export const fileOf = (part: DataPart | LinkPart): { url: string; mediaType: string } =>
  part.type === 'data'
    ? { url: `data:${part.mimeType};base64,${part.data}`, mediaType: part.mimeType }
    : { url: part.url, mediaType: part.mimeType ?? 'application/octet-stream' }

const outcomeOf = (
  result: ToolResultPart,
  showError: (error: unknown) => string,
): { [key: string]: JsonValue } => {
  if (result.rejected) return { state: 'output-denied', approval: { id: result.id, approved: false } }
  if (result.isError) return { state: 'output-error', errorText: shownErrorOf(result, showError) }
  return { state: 'output-available', output: outputOf(result) }
}

/**
 * The tools of a list as the types of a page's messages.
 *
 * @example const chat = useChat<UIMessage<UiMetadata, UiData, UiTools<typeof tools>>>()
 */
export type UiTools<Tools extends readonly { readonly name: string }[]> = {
  [T in Tools[number] as T['name']]: TypesOf<T>
}

type TypesOf<T> = T extends { readonly '~types'?: infer Types }
  ? NonNullable<Types>
  : { input: unknown; output: unknown }

/** The metadata of an answer. `questions`: what the page was asked, by the ids of the calls, where their parts have no place for it. */
export type UiMetadata = { usage?: Usage; questions?: Record<string, string> }

/** The data parts that a handler makes: see the guide. */
export type UiData = { state: { state: string }; progress: JsonValue; restart: JsonObject }

/** A chunk of a stream of UI messages. `ai` 5, 6 and 7 understand it, unless it is marked. */
export type UiChunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'finish-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'tool-input-start'; toolCallId: string; toolName: string }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | {
      type: 'tool-input-available'
      toolCallId: string
      toolName: string
      input: JsonObject
      providerExecuted?: true
    }
  | { type: 'tool-input-error'; toolCallId: string; toolName: string; input: string; errorText: string }
  /** A part that exists since `ai` 6. */
  | {
      type: 'tool-approval-request'
      approvalId: string
      toolCallId: string
      reason?: string
      isAutomatic?: true
    }
  /** A part that exists since `ai` 7. */
  | { type: 'tool-approval-response'; approvalId: string; approved: true }
  | { type: 'tool-output-available'; toolCallId: string; output: JsonValue }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  /** A part that exists since `ai` 6. */
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'file'; url: string; mediaType: string }
  | ({ type: 'source-url' } & Source)
  | { type: `data-${string}`; id?: string; data: JsonValue; transient?: boolean }
  | { type: 'finish'; finishReason: UiFinishReason; messageMetadata?: JsonObject }
  | { type: 'error'; errorText: string }
  | { type: 'abort' }

/** The finish reasons that `ai` 5, 6 and 7 share. */
export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'

/** The chunks that a major version of `ai` understands. */
export type UiChunkOf<Version extends 5 | 6 | 7> = Version extends 5
  ? Exclude<UiChunk, { type: 'tool-approval-request' | 'tool-approval-response' | 'tool-output-denied' }>
  : Version extends 6
    ? Exclude<UiChunk, { type: 'tool-approval-response' }>
    : UiChunk
