import type { JsonObject, JsonValue } from '../messages/json.ts'
import { deepestJson } from '../messages/jsonDepth.ts'

/** A list or an object that is not closed yet. */
type Open = { count: number } & (
  | { kind: 'object'; known: JsonObject; key: string | null }
  | { kind: 'array'; known: JsonValue[] }
)

/** The number of entries that may be copied for each character that came. */
const entriesPerCharacter = 16

/**
 * Reads JSON while it is being written. After any piece, `value` is what is known so far: strings as far as they have
 * come, numbers and words once they are complete. Each character is read once, however long the text is. A value that
 * was given never changes: later values share its closed parts, and copy the open ones. In a list of thousands the
 * value lags behind by a few entries, so that all copies together stay in proportion to the text.
 */
export class PartialJson {
  #root: JsonValue | undefined
  readonly #open: Open[] = []
  #state: 'value' | 'string' | 'word' = 'value'
  /** The string, number or word that is being read. */
  #token = ''
  /** The part of an escape sequence in a string that has come. */
  #escape = ''
  /** The entries of all that is open. */
  #entries = 0
  #latest: JsonValue | undefined
  #unread = 0

  push(text: string): void {
    this.#unread += text.length
    let at = 0
    while (at < text.length) {
      if (this.#state === 'string') at = this.#readString(text, at)
      else if (this.#state === 'word') at = this.#readWord(text, at)
      else {
        this.#structure(text.charAt(at))
        at += 1
      }
    }
  }

  /** The value so far; undefined before the first value has begun. */
  get value(): JsonValue | undefined {
    if (this.#latest !== undefined && this.#unread * entriesPerCharacter < this.#entries) return this.#latest
    this.#unread = 0
    this.#latest = this.#snapshot()
    return this.#latest
  }

  /** Takes what comes before the next quote or backslash as it is. */
  #readString(text: string, start: number): number {
    if (this.#escape !== '') return this.#readEscape(text, start)
    let at = start
    while (at < text.length && text[at] !== '"' && text[at] !== '\\') at += 1
    this.#token += text.slice(start, at)
    if (at === text.length) return at
    if (text[at] === '"') this.#endString()
    else this.#escape = '\\'
    return at + 1
  }

  #readEscape(text: string, at: number): number {
    this.#escape += text.charAt(at)
    const isUnicode = this.#escape[1] === 'u'
    if (isUnicode && this.#escape.length < 6) return at + 1
    this.#token += isUnicode
      ? String.fromCharCode(Number.parseInt(this.#escape.slice(2), 16))
      : (escapes.get(this.#escape.charAt(1)) ?? '')
    this.#escape = ''
    return at + 1
  }

  #readWord(text: string, start: number): number {
    let at = start
    while (at < text.length && /[\w.+-]/.test(text.charAt(at))) at += 1
    this.#token += text.slice(start, at)
    if (at < text.length) this.#endWord()
    return at
  }

  #structure(char: string): void {
    if (char === '{') this.#open.push({ kind: 'object', known: {}, key: null, count: 0 })
    else if (char === '[') this.#open.push({ kind: 'array', known: [], count: 0 })
    else if (char === '}' || char === ']') this.#close()
    else if (char === '"') this.#startToken('string', '')
    else if (char === ',') {
      const top = this.#open.at(-1)
      if (top?.kind === 'object') top.key = null
    } else if (/[\w-]/.test(char)) this.#startToken('word', char)
  }

  #startToken(state: 'string' | 'word', token: string): void {
    this.#state = state
    this.#token = token
  }

  #close(): void {
    const closed = this.#open.pop()
    if (!closed) return
    this.#entries -= closed.count
    // The final check refuses what is deeper; until then it is left out.
    if (this.#open.length < deepestJson) this.#add(closed.known)
  }

  #endString(): void {
    this.#state = 'value'
    const top = this.#open.at(-1)
    if (top?.kind === 'object' && top.key === null) top.key = this.#token
    else this.#add(this.#token)
  }

  #endWord(): void {
    this.#state = 'value'
    try {
      this.#add(JSON.parse(this.#token))
    } catch {
      // Not a JSON word: the final check of the whole answer says so.
    }
  }

  #add(value: JsonValue): void {
    const top = this.#open.at(-1)
    if (!top) this.#root = value
    else if (put(top, top.known, value)) {
      top.count += 1
      this.#entries += 1
    }
  }

  #snapshot(): JsonValue | undefined {
    // The current value is in the innermost container, which may be too deep to be shown.
    const isReading = this.#state === 'string' && this.#open.length <= deepestJson
    let inner: JsonValue | undefined = isReading ? this.#token : undefined
    for (const open of this.#open.slice(0, deepestJson).reverse()) {
      const copy: JsonObject | JsonValue[] = open.kind === 'array' ? [...open.known] : { ...open.known }
      if (inner !== undefined) put(open, copy, inner)
      inner = copy
    }
    return inner ?? this.#root
  }
}

/** Puts a value where the next one of a list or object goes; false if there is no key for it yet. */
const put = (open: Open, known: JsonObject | JsonValue[], value: JsonValue): boolean => {
  if (Array.isArray(known)) known.push(value)
  else if (open.kind !== 'object' || open.key === null) return false
  // Defined, not assigned: `__proto__` becomes a plain key.
  else Object.defineProperty(known, open.key, { ...plainData, value })
  return true
}

const plainData = { enumerable: true, configurable: true, writable: true }

const escapes = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])
