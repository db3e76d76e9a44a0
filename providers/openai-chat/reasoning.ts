import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { arrayAt, stringAt } from '../wire/wireJson.ts'

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

/** Only text grows. An encrypted block is whole, and a block that is signed is over. */
const continues = (last: Detail, piece: Detail): boolean =>
  piece.get('type') !== 'reasoning.encrypted' &&
  last.get('type') === piece.get('type') &&
  last.get('index') === piece.get('index') &&
  typeof last.get('signature') !== 'string' &&
  (!piece.get('id') || !last.get('id') || piece.get('id') === last.get('id'))
