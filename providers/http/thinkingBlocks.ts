import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { arrayAt, stringAt } from '../wire/json.ts'

// Thinking in a history that its provider refuses. A signed block is known by its signature, so that those of other
// conversations, and the ones that come after it, still go back.

/** The characters of a signature that identify it. */
const enough = 80

/** The places of signed and encrypted blocks on a message: the protocol, its list, and whether one can be left out alone. */
const places = [
  { protocol: 'anthropic', list: 'blocks', alone: true },
  { protocol: 'openai-chat', list: 'reasoningDetails', alone: true },
  { protocol: 'openai-responses', list: 'layout', alone: true },
  // Gemini wants a signature for its calls: without any of its data, it gets the one that is documented for such a case.
  { protocol: 'google', list: 'parts', alone: false },
] as const

type Place = (typeof places)[number]

/** The identity of a signed block; undefined for any other. */
const signatureOf = (block: JsonValue): string | undefined => {
  // A compaction is signed, too, and is all that is left of what it replaced.
  if (!isJsonObject(block) || isSummary(block)) return undefined
  const isData = /^redacted_thinking$|^reasoning\.encrypted$/.test(stringAt(block, 'type') ?? '')
  const signed = stringAt(block, isData ? 'data' : 'signature') ?? stringAt(block, 'encrypted_content')
  return signed && `${signed.length}:${signed.slice(-enough)}`
}

const isSummary = ({ type, content }: JsonObject): boolean =>
  type === 'compaction' && typeof content === 'string'

const dataAt = ({ metadata }: ChatMessage, { protocol }: Place): JsonObject | undefined => {
  const data = metadata && ownValue(metadata, protocol)
  return isJsonObject(data) ? data : undefined
}

const blocksIn = (message: ChatMessage, place: Place): JsonValue[] =>
  arrayAt(dataAt(message, place), place.list) ?? []

/** The signed blocks that a request sends back. */
export const foreignThinking = ({ messages }: ModelRequest): string[] =>
  messages
    .flatMap((message) => places.flatMap((place) => blocksIn(message, place).map(signatureOf)))
    .filter((signature) => signature !== undefined)

/** A request without the blocks of these signatures; the same if it has none of them. */
export const withoutThinking = (request: ModelRequest, refused: ReadonlySet<string>): ModelRequest => {
  const isRefused = (block: JsonValue): boolean => refused.has(signatureOf(block) ?? '')
  const isForeign = (message: ChatMessage) => (place: Place) => blocksIn(message, place).some(isRefused)
  if (!request.messages.some((message) => places.some(isForeign(message)))) return request
  const messages = request.messages.map((message): ChatMessage => {
    const metadata = { ...message.metadata }
    for (const place of places.filter(isForeign(message))) {
      const blocks = blocksIn(message, place).filter((block) => !isRefused(block))
      if (place.alone) metadata[place.protocol] = { ...dataAt(message, place), [place.list]: blocks }
      else delete metadata[place.protocol]
    }
    return places.some(isForeign(message)) ? { ...message, metadata } : message
  })
  return { ...request, messages }
}

const encrypted = 'reasoning.encrypted_content'

/** A body of the Responses API that does not ask for encrypted thinking. */
export const withoutEncrypted = ({ include, ...rest }: JsonObject): JsonObject => {
  const left = Array.isArray(include) ? include.filter((each) => each !== encrypted) : []
  return left.length > 0 ? { ...rest, include: left } : rest
}

// The thinking of earlier answers on chat completions, as a text beside them. Some servers refuse it, others refuse a
// history without it.

const fields = ['reasoning_content', 'reasoning', 'reasoning_details']

const isAnswer = (message: JsonValue): message is JsonObject =>
  isJsonObject(message) && message.role === 'assistant'

const hasThinkingText = (message: JsonObject): boolean =>
  fields.some((field) => Object.hasOwn(message, field))

/** True for a body whose history has the thinking of an answer. */
export const replaysThinking = (body: JsonObject): boolean =>
  (arrayAt(body, 'messages') ?? []).some((message) => isAnswer(message) && hasThinkingText(message))

/** The body without the thinking of its answers; the same if it has none. */
export const withoutThinkingText = (body: JsonObject): JsonObject =>
  replaysThinking(body)
    ? changed(body, ({ reasoning_content: _, reasoning: __, reasoning_details: ___, ...rest }) => rest)
    : body

/** The body with a blank thinking in each answer that has none; the same if all have some. Kimi takes an empty one for none. */
export const withBlankThinking = (body: JsonObject): JsonObject => {
  const wants = (message: JsonValue) => isAnswer(message) && !stringAt(message, 'reasoning_content')
  if (!(arrayAt(body, 'messages') ?? []).some(wants)) return body
  return changed(body, (message) => (wants(message) ? { ...message, reasoning_content: ' ' } : message))
}

const changed = (body: JsonObject, change: (answer: JsonObject) => JsonObject): JsonObject => ({
  ...body,
  messages: (arrayAt(body, 'messages') ?? []).map((each) => (isAnswer(each) ? change(each) : each)),
})
