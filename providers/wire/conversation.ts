import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import { type ChatMessage, textOf, toolCallsOf } from '../../src/messages/messages.ts'

/** A history as a mapper wants it: the system text apart, the turns that have something to say. */
export type Conversation = { system: string; turns: ChatMessage[] }

/** Splits off the system prompt (anywhere in the history) and drops messages without content. */
export const conversationOf = (messages: readonly ChatMessage[]): Conversation => ({
  system: messages
    .filter((message) => message.role === 'system')
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n'),
  turns: messages.filter(
    (message) => message.role !== 'system' && (message.parts.length > 0 || message.metadata !== undefined),
  ),
})

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

/** What a provider allows as the id of a tool call; a substitute is at most this long. */
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
