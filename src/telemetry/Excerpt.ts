import type { JsonObject, JsonValue } from '../messages/json.ts'

/** How much an attribute may say, in characters. */
const mostCharacters = 32_000
/** What any value costs, however short: lists without end are cut as well. */
const leastCost = 8
const deepest = 12
/** A word longer than this is not a credential. */
const longestWord = 4_096

/** What is said in place of something: `⟨… 90000 characters in all⟩`. */
export const remark = (text: string): string => `⟨${text}⟩`

/** Limits how much of a content is kept: secrets are removed, what does not fit is cut, and the cut is marked. */
export class Excerpt {
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
    // Secrets first: half of one would not be known as one.
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

  /** As many of a list as fit. */
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
