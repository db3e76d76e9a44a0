import type { ChatMessage } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ChatModel, ModelRequest } from '../../src/model/chatModel.ts'
import * as is from '../stored/shape.ts'
import { digest } from '../tools/question.ts'
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
    part === 'history'
      ? repeatsHistory(request, before) && repeatsChanges(opening, before.opening)
      : before[part] === prefix[part]
  return { prefix, changed: parts.filter((part) => !isSame(part)) }
}

/** True for a request whose messages begin with those of the one before it. */
export const repeatsHistory = ({ messages }: ModelRequest, before: RequestPrefix): boolean => {
  const history = historyIn(messages)
  return history.length >= before.messages && chain(history.slice(0, before.messages)) === before.history
}

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

const chain = (messages: readonly ChatMessage[]): string => digest(messages.map(digestOf).join(' '))

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

/** A change in one sentence: `Another request than before: the tools changed, 1,200 tokens were not read from the cache.` */
export const prefixSentence = ({ changed, lostTokens }: Omit<PrefixChange, 'step'>): string => {
  const what = `Another request than before: ${changed.map((part) => names[part]).join(' and ')} changed`
  const lost =
    lostTokens === undefined
      ? ''
      : `, ${lostTokens.toLocaleString('en-US')} tokens were not read from the cache`
  return `${what}${lost}.`
}
