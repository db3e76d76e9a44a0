import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, PromptCache } from '../../src/model/chatModel.ts'
import { conversationOf } from './conversation.ts'

/** What marks the end of a prefix that is to be cached, in Anthropic's words; undefined where nothing is to be. */
export const cacheMarker = (cache: PromptCache = 'auto'): JsonObject | undefined => {
  if (cache === 'off') return undefined
  // Five minutes are what it is without a word.
  const isLong = cache !== 'auto' && cache.ttl === '1h'
  return { type: 'ephemeral', ...(isLong && { ttl: '1h' }) }
}

/**
 * Where the last two requests of a conversation ended: at its last message, and at the one before the newest answer. The
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
  const { system } = conversationOf(messages)
  return { prompt_cache_key: hashOf(given ?? JSON.stringify([system, tools, serverTools])) }
}

/** Sixteen hexadecimal digits, the same for the same text: two runs of FNV-1a with different starts. */
const hashOf = (text: string): string => {
  let one = 0x811c9dc5
  let other = 0x1b873593
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    one = Math.imul(one ^ unit, 0x01000193)
    other = Math.imul(other ^ unit, 0x85ebca6b) ^ (other >>> 15)
  }
  return [one, other].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}
