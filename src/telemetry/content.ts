import type { JsonObject, JsonValue } from '../messages/json.ts'
import { type ChatMessage, type Part, type ToolResultPart, textOf } from '../messages/messages.ts'
import type { ToolSpec } from '../model/chatModel.ts'

type Hide = (text: string) => string

const mostMessages = 1_000

/** The messages of a conversation in the form of the conventions: the newest that fit, and the number of those left out. */
export const messagesContent = (
  messages: readonly ChatMessage[],
  hide: Hide,
  finishReason?: string,
): { json: string; omitted: number } => {
  const excerpt = new Excerpt(hide)
  // Each message costs something, so more than this never fit.
  const newest = messages.slice(-mostMessages).reverse()
  const shown = excerpt.some(newest, (each) => messageContent(each, excerpt, finishReason))
  return { json: JSON.stringify(shown.reverse().flat()), omitted: messages.length - shown.length }
}

/** The system prompt. */
export const systemContent = (messages: readonly ChatMessage[], hide: Hide): string => {
  const excerpt = new Excerpt(hide)
  return JSON.stringify(
    excerpt.some(messages, (each) => ({ type: 'text', content: excerpt.text(textOf(each)) })),
  )
}

/** The tools as the model sees them. */
export const toolsContent = (tools: readonly ToolSpec[], hide: Hide): string => {
  const excerpt = new Excerpt(hide)
  return JSON.stringify(
    excerpt.some(tools, ({ name, description, inputSchema }) => ({
      type: 'function',
      name: excerpt.text(name),
      description: excerpt.text(description),
      parameters: excerpt.json(inputSchema),
    })),
  )
}

export const argumentsContent = (args: JsonObject, hide: Hide): string =>
  JSON.stringify(new Excerpt(hide).json(args))

export const resultContent = (result: ToolResultPart, hide: Hide): string => {
  const excerpt = new Excerpt(hide)
  const response = responseOf(result, excerpt)
  return typeof response === 'string' ? response : JSON.stringify(response)
}

const messageContent = (
  { role, parts, metadata }: ChatMessage,
  excerpt: Excerpt,
  finishReason: string | undefined,
): JsonObject[] => {
  if (role !== 'model') {
    // Tool results have their own role; what a person added to them has the person's.
    const results = parts.filter((part) => part.type === 'toolResult')
    const others = parts.filter((part) => part.type !== 'toolResult')
    return [
      ...(results.length > 0 ? [{ role: 'tool', parts: partsOf(results, excerpt) }] : []),
      ...(others.length > 0 ? [{ role, parts: partsOf(others, excerpt) }] : []),
    ]
  }
  const thinking = metadata?.thinking
  const reasoning =
    typeof thinking === 'string' ? [{ type: 'reasoning', content: excerpt.text(thinking) }] : []
  return [
    {
      role: 'assistant',
      parts: [...reasoning, ...partsOf(parts, excerpt)],
      ...(finishReason !== undefined && { finish_reason: finishReason }),
    },
  ]
}

const partsOf = (parts: readonly Part[], excerpt: Excerpt): JsonObject[] => {
  const shown = excerpt.some(parts, (part) => partContent(part, excerpt))
  const cut = { type: 'text', content: remark(`… ${parts.length} parts in all`) }
  return shown.length < parts.length ? [...shown, cut] : shown
}

const partContent = (part: Part, excerpt: Excerpt): JsonObject => {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: excerpt.text(part.text) }
    case 'data':
      // The bytes themselves do not belong in a trace.
      return { type: 'blob', mime_type: excerpt.text(part.mimeType), modality: modalityOf(part), content: '' }
    case 'link':
      return {
        type: 'uri',
        modality: modalityOf(part),
        uri: excerpt.text(part.url),
        ...(part.mimeType !== undefined && { mime_type: excerpt.text(part.mimeType) }),
      }
    case 'toolCall':
      return {
        type: 'tool_call',
        id: excerpt.text(part.id),
        name: excerpt.text(part.name),
        arguments: excerpt.json(part.arguments),
      }
    case 'toolResult':
      return { type: 'tool_call_response', id: excerpt.text(part.id), response: responseOf(part, excerpt) }
  }
}

const responseOf = ({ result, parts = [] }: ToolResultPart, excerpt: Excerpt): JsonValue => {
  if (parts.length === 0) return excerpt.text(result)
  const text = result === '' ? [] : [{ type: 'text', content: excerpt.text(result) }]
  return [...text, ...partsOf(parts, excerpt)]
}

/** The kind of a file: `image`, `audio` or `video`; anything else is a `document`. */
const modalityOf = ({ mimeType = '' }: { mimeType?: string }): string =>
  /^(?:image|audio|video)(?=\/)/.exec(mimeType)?.[0] ?? 'document'

/** The longest attribute, in characters. */
const mostCharacters = 32_000
/** The cost of the shortest value, so that endless lists of short values are cut, too. */
const leastCost = 8
const deepest = 12
/** The longest word that may be a credential. */
const longestWord = 4_096

/** A note in place of content that was cut: `⟨… 90000 characters in all⟩`. */
const remark = (text: string): string => `⟨${text}⟩`

/** Limits the content of an attribute: secrets are removed, the rest is cut where it does not fit, and the cut is marked. */
class Excerpt {
  readonly #hide: (text: string) => string
  #left = mostCharacters

  constructor(hide: (text: string) => string) {
    this.#hide = hide
  }

  get isFull(): boolean {
    return this.#left <= 0
  }

  text(text: string): string {
    const most = Math.max(0, this.#left)
    // Secrets are removed first: half of one would not be recognised.
    const safe = this.#hide(wholeWords(text, most + longestWord))
    this.#left -= Math.min(safe.length, most) + leastCost
    const isWhole = safe.length <= most && text.length <= most + longestWord
    return isWhole ? safe : `${safe.slice(0, most)}${remark(`… ${text.length} characters in all`)}`
  }

  json(value: JsonValue, depth = 0): JsonValue {
    if (typeof value === 'string') return this.text(value)
    this.#left -= leastCost
    if (value === null || typeof value !== 'object') return value
    if (depth >= deepest || this.isFull) return remark('…')
    return Array.isArray(value) ? this.#list(value, depth) : this.#record(value, depth)
  }

  /** Shows as many entries of a list as fit. */
  some<T, Shown>(list: readonly T[], show: (each: T) => Shown): Shown[] {
    const shown: Shown[] = []
    for (const each of list) {
      if (this.isFull) break
      this.#left -= leastCost
      shown.push(show(each))
    }
    return shown
  }

  #list(list: readonly JsonValue[], depth: number): JsonValue[] {
    const shown = this.some(list, (each) => this.json(each, depth + 1))
    return shown.length < list.length ? [...shown, remark(`… ${list.length} in all`)] : shown
  }

  #record(record: JsonObject, depth: number): JsonObject {
    const shown: [string, JsonValue][] = []
    for (const key in record) {
      if (this.isFull) {
        shown.push([remark('…'), ''])
        break
      }
      const value = record[key]
      if (value !== undefined) shown.push([this.text(key), this.json(value, depth + 1)])
    }
    return Object.fromEntries(shown)
  }
}

/** The beginning of a text, without a word at its end that may be half a secret. */
const wholeWords = (text: string, most: number): string => {
  if (text.length <= most) return text
  let end = most
  while (end > most - longestWord && end > 0 && text.charCodeAt(end - 1) > 0x20) end -= 1
  return text.slice(0, end)
}
