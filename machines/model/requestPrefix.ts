import { copyJson, isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ChatModel, ModelRequest } from '../../src/model/chatModel.ts'
import type { PrefixDifference } from '../../src/model/delta.ts'
import * as is from '../stored/shape.ts'
import { Digest, digest } from '../tools/question.ts'
import { digestOf, type Opening, openingShape, systemIn } from './appendedChanges.ts'

// Caches, signed thinking and responses that a server keeps all depend on one thing: a request begins with the one before
// it. Here is what a request begins with, in hashes, so that the next one of the conversation can be compared with it.

/** A part of a request that later requests of a conversation have to repeat. */
export type PrefixPart = 'model' | 'system' | 'tools' | 'history'

/** The hashes of a request, to compare the next request of the conversation with. Plain JSON. */
export type RequestPrefix = Record<PrefixPart, string> & {
  /** The number of messages that `history` is the hash of. */
  messages: number
  /** The tokens of its input, where the provider reports them. */
  tokens?: number
  /** The beginning of the conversation, for a model that takes changes as messages. */
  opening?: Opening
  /** The parts that went out otherwise than the hashes say. */
  differences?: PrefixDifference[]
}

/** A request that was sent, and the parts in which it does not begin with the one before it. */
export type SentPrefix = { prefix: RequestPrefix; changed: PrefixPart[] }

/** A request that does not begin with the one before it. */
export type PrefixChange = {
  /** The model call of the run, counted from 1. */
  step: number
  changed: PrefixPart[]
  /**
   * The tokens of the request before that the provider did not read from its cache. Absent where it does not report what it
   * reads.
   */
  lostTokens?: number
}

export const prefixShape = is.fields<RequestPrefix>({
  model: is.text,
  system: is.text,
  tools: is.text,
  history: is.text,
  messages: is.count,
  tokens: is.optional(is.number),
  opening: is.optional(openingShape),
  differences: is.optional(
    is.listOf(
      is.fields<PrefixDifference>({
        part: is.oneOf('system', 'tools', 'history'),
        by: is.text,
        isNew: is.optional(is.flag),
      }),
    ),
  ),
})

const parts = ['model', 'system', 'tools', 'history'] as const

export const sentShape = is.fields<SentPrefix>({
  prefix: prefixShape,
  changed: is.listOf(is.oneOf(...parts)),
})

/** The hashes of a request, and its differences from the one before it in the conversation. */
export const sentPrefix = (
  model: ChatModel,
  request: ModelRequest,
  before: RequestPrefix | undefined,
  opening?: Opening,
): SentPrefix => {
  const history = historyIn(request.messages)
  // Before the hash of the whole history, which continues that of its beginning.
  const isRepeated = before !== undefined && beginsWith(history, before)
  const prefix = {
    model: digest(`${model.protocol ?? ''} ${model.provider} ${model.model}`),
    system: digest(systemIn(request.messages)),
    tools: digest(JSON.stringify([request.tools?.map(digestOf), request.serverTools])),
    history: chain(history),
    messages: history.length,
    ...(opening && { opening }),
  }
  if (!before) return { prefix, changed: [] }
  const isSame = (part: PrefixPart) =>
    part === 'history' ? isRepeated && repeatsChanges(opening, before.opening) : before[part] === prefix[part]
  return { prefix, changed: parts.filter((part) => !isSame(part)) }
}

/**
 * The answer to a request, with the hashes of the request beside the provider's own: so they come along wherever the
 * conversation is kept. The opening stays behind, because it grows with the tools: without it, changes that were
 * messages are gone from the next request, and the history is another one.
 */
export const withRequest = (message: ChatMessage, { opening, ...prefix }: RequestPrefix): ChatMessage => {
  const request = { ...prefix, ...(opening?.changes.length && { history: '' }) }
  const stamped = Object.entries(message.metadata ?? {}).map(([protocol, data]) => [
    protocol,
    isStamped(data) ? { ...data, request: [request] } : data,
  ])
  return message.metadata ? { ...message, metadata: Object.fromEntries(stamped) } : message
}

/** The hashes that came along with the last whole answer of a conversation. Anything else is not compared with. */
export const requestBefore = (history: readonly ChatMessage[]): RequestPrefix | undefined => {
  const last = history.findLast(({ role, metadata }) => role === 'model' && metadata?.interrupted !== true)
  const { metadata = {} } = last ?? {}
  const data = Object.values(metadata).find(isStamped)
  // A list, as for the prefix of the provider: the data of an answer that was paused is joined.
  const [request] = Array.isArray(data?.request) ? data.request : []
  return prefixFrom(request)
}

/** The hashes of a request from anywhere; undefined for anything else. */
export const prefixFrom = (given: unknown): RequestPrefix | undefined =>
  given !== undefined && prefixShape('prefix', given) === undefined
    ? (copyJson(given) as RequestPrefix)
    : undefined

/** True for the data of a provider that keeps what preceded an answer. */
const isStamped = (data: unknown): data is JsonObject => isJsonObject(data) && Array.isArray(data.prefix)

/** The request as it went out: with the parts that the wire has otherwise than the engine gave them. */
export const withDifferences = (
  { prefix, changed }: SentPrefix,
  before: RequestPrefix | undefined,
  differences: PrefixDifference[],
): SentPrefix => {
  const earlier = before?.differences ?? []
  if (earlier.length + differences.length === 0) return { prefix, changed }
  const isIn = (list: readonly PrefixDifference[]) => (each: PrefixDifference) =>
    list.some(({ part, by }) => part === each.part && by === each.by)
  const begun = differences.filter((each) => !each.isNew && !isIn(earlier)(each))
  const ended = earlier.filter((each) => !isIn(differences)(each))
  const other = before ? [...begun, ...ended].map(({ part }) => part) : []
  return {
    prefix: { ...prefix, ...(differences.length > 0 && { differences }) },
    changed: parts.filter((part) => changed.includes(part) || other.some((each) => each === part)),
  }
}

/** True for a request whose messages begin with those of the one before it. */
export const repeatsHistory = ({ messages }: ModelRequest, before: RequestPrefix): boolean =>
  beginsWith(historyIn(messages), before)

const beginsWith = (history: readonly ChatMessage[], before: RequestPrefix): boolean =>
  history.length >= before.messages && chain(history.slice(0, before.messages)) === before.history

/** True if the changes that the request before had as messages are still at their places. */
const repeatsChanges = (opening: Opening | undefined, before: Opening | undefined): boolean => {
  const made = before?.changes ?? []
  return JSON.stringify(opening?.changes.slice(0, made.length) ?? []) === JSON.stringify(made)
}

/** The messages without system prompts, which go first on the wire, and without changes, which are kept apart. */
const historyIn = (messages: readonly ChatMessage[]): readonly ChatMessage[] => {
  const said = messages.filter(({ role }) => role !== 'system')
  // An answer that was paused is continued: it is longer in the next request, and not yet history.
  return said.at(-1)?.role === 'model' ? said.slice(0, -1) : said
}

/** The hashes of histories, by their last message: the next request of a run only adds to one. */
const chains = new WeakMap<ChatMessage, { messages: readonly ChatMessage[]; hash: Digest }>()

/** A step adds an answer and its results, or a few messages more. */
const mostAdded = 8

const chain = (messages: readonly ChatMessage[]): string => {
  const last = messages.at(-1)
  if (!last) return digest('')
  let known = messages.length
  let hash: Digest | undefined
  while (known > 0 && !hash && messages.length - known <= mostAdded) {
    hash = hashAt(messages, known)
    if (!hash) known -= 1
  }
  if (!hash) known = 0
  const whole = hash ?? new Digest()
  // Handed on, so that a long run does not keep a list for each of its steps.
  const end = messages[known - 1]
  if (end && end !== last) chains.delete(end)
  for (let at = known; at < messages.length; at += 1) {
    const message = messages[at]
    if (message) whole.add(`${at === 0 ? '' : ' '}${digestOf(message)}`)
  }
  chains.set(last, { messages, hash: whole })
  return whole.text
}

/** The hash of the first messages of a list, if it is known. */
const hashAt = (messages: readonly ChatMessage[], count: number): Digest | undefined => {
  const last = messages[count - 1]
  const known = last && chains.get(last)
  const isSame = known?.messages.length === count && known.messages.every((each, at) => each === messages[at])
  return isSame ? known.hash : undefined
}

/** The event of an answered request that did not begin with the one before it; undefined for one that did. */
export const prefixChange = (
  step: number,
  { changed }: SentPrefix,
  before: RequestPrefix | undefined,
  usage: Usage | null,
): PrefixChange | undefined => {
  if (changed.length === 0) return undefined
  const { cachedInputTokens } = usage ?? {}
  const isKnown = before?.tokens !== undefined && cachedInputTokens !== undefined
  return {
    step,
    changed,
    ...(isKnown && { lostTokens: Math.max(0, (before.tokens ?? 0) - cachedInputTokens) }),
  }
}

const names: Record<PrefixPart, string> = {
  model: 'the model',
  system: 'the system prompt',
  tools: 'the tools',
  history: 'the messages before',
}

/** A change in one sentence: `The request differs from the one before: the tools changed, 1,200 tokens were not read from the cache.` */
export const prefixSentence = ({ changed, lostTokens }: Omit<PrefixChange, 'step'>): string => {
  const what = `The request differs from the one before: ${changed.map((part) => names[part]).join(' and ')} changed`
  const lost =
    lostTokens === undefined
      ? ''
      : `, ${lostTokens.toLocaleString('en-US')} tokens were not read from the cache`
  return `${what}${lost}.`
}
