import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'
import { type ChatMessage, textOf, textPart, toolCallsOf, userMessage } from '../../src/messages/messages.ts'
import type { ModelRequest, PromptCache, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { toolChangeOf } from '../../src/model/promptChange.ts'
import type { Target, WireRequest } from './protocol.ts'
import { systemOnce, writtenOnce } from './written.ts'

/** Splits off the system prompt (anywhere in the history) and drops messages without content. Changes stay in their places. */
export const conversationOf = (
  messages: readonly ChatMessage[],
): { system: string; turns: ChatMessage[] } => {
  const system: string[] = []
  const turns: ChatMessage[] = []
  // A loop: this goes through the whole conversation at every request.
  for (const message of messages) {
    if (message.role !== 'system') {
      if (message.parts.length > 0 || message.metadata !== undefined) turns.push(message)
    } else if (toolChangeOf(message)) turns.push(message)
    else system.push(textOf(message))
  }
  return { system: system.filter((text) => text !== '').join('\n\n'), turns }
}

/**
 * A history as a list of messages with roles: the system text first, then what each turn is on the wire. A turn is written
 * once: nothing of it depends on other turns but the ids of its calls.
 */
export const roleMessages = (
  messages: readonly ChatMessage[],
  target: Target,
  wireId: (id: string) => string,
  write: { system?: string; model(turn: ChatMessage): JsonObject[]; user(turn: ChatMessage): JsonObject[] },
): JsonObject[] => {
  const { system, turns } = conversationOf(messages)
  const wire = system === '' ? [] : [systemOnce(target, write.system ?? 'system', system)]
  for (const turn of turns) {
    const items = writtenOnce(turn, target, idsIn(turn, wireId), () =>
      turn.role === 'model' ? write.model(turn) : write.user(turn),
    )
    for (const item of items) wire.push(item)
  }
  return wire
}

/** The calls and results of a message that have another id on the wire. */
export const idsIn = ({ parts }: ChatMessage, wireId: (id: string) => string): string => {
  let ids = ''
  for (const part of parts) {
    if (part.type !== 'toolCall' && part.type !== 'toolResult') continue
    const id = wireId(part.id)
    if (id !== part.id) ids += `${part.id}\u0000${id}\u0000`
  }
  return ids
}

/** The thinking that a message keeps in its metadata. */
export const thinkingOf = ({ metadata }: ChatMessage): string | undefined => {
  const thinking = metadata && ownValue(metadata, 'thinking')
  return typeof thinking === 'string' ? thinking : undefined
}

/**
 * The opaque data a message carries for this protocol and provider: signatures, encrypted reasoning, response ids.
 * What another provider left is not returned: it is only valid where it was made.
 */
export const opaqueOf = (
  message: ChatMessage,
  protocol: string,
  provider: string,
): JsonObject | undefined => {
  const data = message.metadata && ownValue(message.metadata, protocol)
  return isJsonObject(data) && data.provider === provider ? data : undefined
}

/**
 * The messages with an instruction for a model whose API does not take the schema of its answer. It is part of the prompt:
 * the system prompt stays as it was, and so does everything before the prompt.
 */
export const withSchemaInstruction = (
  messages: readonly ChatMessage[],
  schema: JsonObject,
): ChatMessage[] => {
  const text = `Answer with nothing but JSON that follows this JSON Schema, without a code fence:\n${JSON.stringify(schema)}`
  const at = messages.findLastIndex(
    ({ role, parts }) => role === 'user' && !parts.some(({ type }) => type === 'toolResult'),
  )
  const prompt = messages[at]
  if (!prompt) return [...messages, userMessage(text)]
  return messages.with(at, { ...prompt, parts: [...prompt.parts, textPart(text)] })
}

/** The difference that `withSchemaInstruction` makes: the prompt has the instruction while it is the last one. */
export const schemaDifference = (
  messages: readonly ChatMessage[],
  schema: JsonObject,
): Pick<WireRequest, 'differences'> => {
  const prompts = messages.filter(
    ({ role, parts }) => role === 'user' && !parts.some(({ type }) => type === 'toolResult'),
  )
  const by = `schema ${prompts.length} ${hashOf(JSON.stringify(schema))}`
  return { differences: [{ part: 'history', by, isNew: true }] }
}

/** The difference that a choice of tools makes where only the tools that may be called are sent. */
export const hiddenTools = (
  tools: readonly unknown[] = [],
  toolChoice: ToolChoice | undefined,
): Pick<WireRequest, 'differences'> => {
  const isOne = typeof toolChoice === 'object'
  if (tools.length === 0 || !(isOne || toolChoice === 'none')) return {}
  return { differences: [{ part: 'tools', by: isOne ? `only ${toolChoice.tool}` : 'none' }] }
}

/** The ids of tool calls that a provider allows; a substitute is at most this long. */
export type IdRule = { pattern: RegExp; length: number }

/**
 * The wire's id for every tool-call id of a history: the one the provider itself used where the engine had to give
 * the call another, and a stable substitute where the provider would reject the id.
 */
export const wireIdsOf = (messages: readonly ChatMessage[], rule?: IdRule): ((id: string) => string) => {
  const original = new Map<string, string>()
  for (const message of messages) {
    const renamed = message.metadata && ownValue(message.metadata, 'providerCallIds')
    if (!isJsonObject(renamed)) continue
    for (const call of toolCallsOf(message)) {
      const id = ownValue(renamed, call.id)
      if (typeof id === 'string') original.set(call.id, id)
    }
  }
  return (id) => {
    const known = original.get(id) ?? id
    return rule && !rule.pattern.test(known) ? substituteId(known, rule.length) : known
  }
}

/** Letters and digits only, the same for the same id: a hash, so that two long ids never become one. */
const substituteId = (id: string, length: number): string => {
  // FNV-1a, 64 bits: a few lines instead of a module that only Node has.
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(id)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  }
  return hash.toString(36).padStart(13, '0').slice(-length)
}

/** The mark at the end of a prefix that is to be cached, in Anthropic's words; undefined where nothing is to be. */
export const cacheMarker = (cache: PromptCache = 'auto'): JsonObject | undefined => {
  if (cache === 'off') return undefined
  // Five minutes are what it is without a word.
  const isLong = cache !== 'auto' && cache.ttl === '1h'
  return { type: 'ephemeral', ...(isLong && { ttl: '1h' }) }
}

/**
 * The ends of the last two requests of a conversation: at its last message, and at the one before the newest answer. The
 * first is written to the cache, the second is where the request before was written, so that it is found however many
 * blocks have come since. An answer itself goes back as it came, also one that was paused and is to be continued.
 */
export const requestEnds = (messages: readonly { role?: unknown }[]): number[] => {
  const before = messages.findLastIndex(({ role }) => role === 'assistant') - 1
  const last = messages.length - 1
  return [...new Set([before, last])].filter((index) => index >= 0 && messages[index]?.role !== 'assistant')
}

/** The longest key that OpenAI takes. */
const longestKey = 64

/**
 * The key under which a provider keeps requests with a common start together. Left to itself it names the system prompt
 * and the tools: what all conversations of one agent share, and what no step of a conversation changes.
 */
export const cacheKey = ({
  cache = 'auto',
  messages,
  tools = [],
  serverTools = [],
}: ModelRequest): JsonObject => {
  if (cache === 'off') return {}
  const given = cache === 'auto' ? undefined : cache.key
  if (given !== undefined && given.length <= longestKey) return { prompt_cache_key: given }
  if (given !== undefined) return { prompt_cache_key: hashOf(given) }
  const { system } = conversationOf(messages)
  const beside = JSON.stringify([system, serverTools])
  const known = keys.get(tools)
  if (known?.beside === beside) return { prompt_cache_key: known.key }
  const key = hashOf(JSON.stringify([system, tools, serverTools]))
  keys.set(tools, { beside, key })
  return { prompt_cache_key: key }
}

/** The keys of lists of tools: those of a run stay the same list, and may be long. */
const keys = new WeakMap<readonly ToolSpec[], { beside: string; key: string }>()

/** Sixteen hexadecimal digits, the same for the same text: two runs of FNV-1a with different starts. */
export const hashOf = (text: string): string => {
  let one = 0x811c9dc5
  let other = 0x1b873593
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    one = Math.imul(one ^ unit, 0x01000193)
    other = Math.imul(other ^ unit, 0x85ebca6b) ^ (other >>> 15)
  }
  return [one, other].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

/** Lists that are added to: a second one instead of the first would take away the agent's own tools. */
const addedTo: ReadonlySet<string> = new Set(['tools', 'include'])

/**
 * A request body with the user's `providerOptions` in it. Objects are merged at every depth, so that one more field of
 * `output_config`, `text` or `generationConfig` leaves its neighbours alone; everything else is the user's.
 */
export const withProviderOptions = (body: JsonObject, options: JsonObject | undefined): JsonObject =>
  options ? merged(body, options) : body

const merged = (base: JsonObject, more: JsonObject): JsonObject => ({
  ...base,
  // Not assigned one by one: a key named `__proto__` would change the object instead of being in it.
  ...Object.fromEntries(
    Object.entries(more).map(([key, value]) => [key, mergedValue(ownValue(base, key), value, key)]),
  ),
})

const mergedValue = (base: JsonValue | undefined, more: JsonValue, key: string): JsonValue => {
  if (Array.isArray(base) && Array.isArray(more) && addedTo.has(key)) return [...base, ...more]
  return isJsonObject(base) && isJsonObject(more) && isSameKind(base, more) ? merged(base, more) : more
}

/** `{ type: 'disabled' }` does not extend `{ type: 'enabled', budget_tokens: 1024 }`, it replaces it. */
const isSameKind = (base: JsonObject, more: JsonObject): boolean =>
  base.type === undefined || more.type === undefined || base.type === more.type
