import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { arrayAt, stringAt } from '../wire/json.ts'

// Signed thinking in a history that its provider refuses. A block is known by its signature, so that those of other
// conversations, and the ones that come after it, still go back.

/** The characters of a signature that identify it. */
const enough = 80

/** The identity of a signed block; undefined for any other. */
const signatureOf = (block: JsonValue): string | undefined => {
  if (!isJsonObject(block) || !/^(?:redacted_)?thinking$/.test(stringAt(block, 'type') ?? ''))
    return undefined
  const signed = stringAt(block, 'signature') ?? stringAt(block, 'data')
  return signed && `${signed.length}:${signed.slice(-enough)}`
}

const blocksIn = ({ metadata }: ChatMessage): JsonValue[] => {
  const data = metadata && ownValue(metadata, 'anthropic')
  return isJsonObject(data) ? (arrayAt(data, 'blocks') ?? []) : []
}

/** The signed blocks that a request sends back. */
export const foreignThinking = ({ messages }: ModelRequest): string[] =>
  messages
    .flatMap((message) => blocksIn(message).map(signatureOf))
    .filter((signature) => signature !== undefined)

/** A request without the blocks of these signatures; the same if it has none of them. */
export const withoutThinking = (request: ModelRequest, refused: ReadonlySet<string>): ModelRequest => {
  const isRefused = (block: JsonValue): boolean => refused.has(signatureOf(block) ?? '')
  if (!request.messages.some((message) => blocksIn(message).some(isRefused))) return request
  const rest = (data: JsonObject): JsonObject => ({
    ...data,
    blocks: (arrayAt(data, 'blocks') ?? []).filter((block) => !isRefused(block)),
  })
  const messages = request.messages.map((message): ChatMessage => {
    const data = message.metadata && ownValue(message.metadata, 'anthropic')
    return isJsonObject(data) && blocksIn(message).some(isRefused)
      ? { ...message, metadata: { ...message.metadata, anthropic: rest(data) } }
      : message
  })
  return { ...request, messages }
}
