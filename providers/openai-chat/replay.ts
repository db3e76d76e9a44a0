import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { type ChatMessage, toolCallsOf } from '../../src/messages/messages.ts'
import type { WireToolCall } from '../../src/model/delta.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import type { Target } from '../wire/protocol.ts'
import { type IdRule, opaqueOf, wireIdsOf } from '../wire/request.ts'
import { callIdRule, type OpenAIChatProfile } from './profile.ts'

/** The parts of a finished answer that the replay needs. */
export type Answer = {
  calls: readonly WireToolCall[]
  /** The data that came with each call and must go back with it. */
  extras: readonly (JsonObject | null)[]
  /** The places of the calls of tools that take any text. */
  textCalls: readonly number[]
  hasThinking: boolean
}

/** Collects what goes back to the model that made it, and to no other. */
export type Replay = {
  read(delta: JsonObject): void
  data(answer: Answer): JsonObject
}

export const chatReplay = ({ profile }: Target<OpenAIChatProfile>): Replay => {
  const { reasoningReplay } = profile
  const isText = reasoningReplay === 'reasoning' || reasoningReplay === 'reasoning_content'
  const isAsSent = reasoningReplay === undefined
  const details = new ReasoningDetails()
  let field: ReasoningField | undefined
  return {
    read: (delta) => {
      if (isAsSent || reasoningReplay === 'reasoning_details') details.add(delta)
      if (isAsSent) field ??= reasoningField(delta)
    },
    data: ({ calls, extras, textCalls, hasThinking }) => ({
      ...(details.items.length > 0 && { reasoningDetails: details.items }),
      // The text itself is on the message already.
      ...(hasThinking && isText && { thinking: true }),
      ...(field && details.items.length === 0 && { reasoningField: field }),
      ...(extras.some((extra) => extra !== null) && { extraContent: [...extras] }),
      ...(textCalls.length > 0 && { textCalls: [...textCalls] }),
      ...ownIdsMark(calls, callIdRule(profile)),
    }),
  }
}

/**
 * The reasoning text of a delta. Servers that send `reasoning_details` usually repeat its text in a plain field,
 * so only one of them is read.
 */
export const reasoningText = (delta: JsonObject): string => {
  const plain = stringAt(delta, 'reasoning_content') || stringAt(delta, 'reasoning')
  if (plain) return plain
  let text = ''
  for (const detail of arrayAt(delta, 'reasoning_details') ?? []) {
    if (isJsonObject(detail)) text += stringAt(detail, 'text') ?? stringAt(detail, 'summary') ?? ''
  }
  return text
}

/** The plain fields a server may send reasoning in, and get it back. */
export type ReasoningField = 'reasoning_content' | 'reasoning'

/** The plain field a delta has reasoning in. */
export const reasoningField = (delta: JsonObject): ReasoningField | undefined => {
  if (stringAt(delta, 'reasoning_content')) return 'reasoning_content'
  return stringAt(delta, 'reasoning') ? 'reasoning' : undefined
}

type Detail = Map<string, JsonValue>

/**
 * Puts `reasoning_details` together for the replay: pieces of one block are joined, a signature that comes alone at the
 * end joins the block it signs, and the other fields of a block are kept as they came.
 */
export class ReasoningDetails {
  readonly #details: Detail[] = []

  add(delta: JsonObject): void {
    for (const detail of arrayAt(delta, 'reasoning_details') ?? []) {
      if (isJsonObject(detail)) this.#addDetail(new Map(Object.entries(detail)))
    }
  }

  get items(): JsonObject[] {
    return this.#details.map((detail) => Object.fromEntries(detail))
  }

  #addDetail(piece: Detail): void {
    const last = this.#details.at(-1)
    if (!last || !continues(last, piece)) {
      this.#details.push(piece)
      return
    }
    for (const [key, value] of piece) {
      const known = last.get(key)
      const isText = key === 'text' || key === 'summary'
      if (isText && typeof known === 'string' && typeof value === 'string') last.set(key, known + value)
      else if (value !== null || known === undefined) last.set(key, value)
    }
  }
}

/** True for a piece of the same block. Text grows; an encrypted block is whole, and a signed one is complete. */
const continues = (last: Detail, piece: Detail): boolean =>
  piece.get('type') !== 'reasoning.encrypted' &&
  last.get('type') === piece.get('type') &&
  last.get('index') === piece.get('index') &&
  typeof last.get('signature') !== 'string' &&
  (!piece.get('id') || !last.get('id') || piece.get('id') === last.get('id'))

/** Marks a message whose ids break the rule although this very model made them: it accepts them again. */
export const ownIdsMark = (calls: readonly WireToolCall[], rule: IdRule | undefined): JsonObject =>
  rule && calls.some((call) => call.id !== '' && !rule.pattern.test(call.id)) ? { ownIds: true } : {}

/** The id to send for each tool call: a model's own ids as they are, foreign ones so that the rule is kept. */
export const callIds = (
  messages: readonly ChatMessage[],
  protocol: string,
  target: Target,
  rule: IdRule | undefined,
): ((id: string) => string) => {
  const original = wireIdsOf(messages)
  const own = new Set<string>()
  for (const message of messages) {
    const opaque = opaqueOf(message, protocol, target.provider)
    if (opaque?.ownIds !== true || opaque.model !== target.model) continue
    for (const call of toolCallsOf(message)) own.add(call.id)
  }
  if (!rule) return original
  const ruled = wireIdsOf(messages, rule)
  return own.size === 0 ? ruled : (id) => (own.has(id) ? original(id) : ruled(id))
}
