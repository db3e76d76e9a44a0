import type { JsonValue } from '../messages/json.ts'
import { deepestJson } from '../messages/jsonDepth.ts'

type Container =
  | { kind: 'object'; entries: Map<string, Node>; key: string | null }
  | { kind: 'array'; items: Node[] }
type Node = Container | { kind: 'scalar'; value: JsonValue }

/**
 * Reads JSON while it is being written. After any piece, `value` is what is known so far: strings as far as they came,
 * numbers and words once they are over. Each piece is read once, however long the text has become.
 */
export class PartialJson {
  #root: Node | undefined
  readonly #open: Container[] = []
  /** The string, number or word that is being read. */
  #token = ''
  #state: 'value' | 'string' | 'escape' | 'word' = 'value'

  push(text: string): void {
    for (const char of text) this.#read(char)
  }

  /** A copy of what is known so far; undefined before the first value has begun. */
  get value(): JsonValue | undefined {
    const reading = this.#state === 'string' || this.#state === 'escape' ? this.#partialString() : undefined
    return this.#root === undefined ? reading : this.#copy(this.#root, reading)
  }

  #read(char: string): void {
    switch (this.#state) {
      case 'escape':
        this.#token += char
        this.#state = 'string'
        return
      case 'string':
        if (char === '"') this.#endString()
        else {
          this.#token += char
          if (char === '\\') this.#state = 'escape'
        }
        return
      case 'word':
        if (/[\w.+-]/.test(char)) {
          this.#token += char
          return
        }
        this.#endWord()
        break
      case 'value':
    }
    this.#structure(char)
  }

  #structure(char: string): void {
    if (char === '{') this.#begin({ kind: 'object', entries: new Map(), key: null })
    else if (char === '[') this.#begin({ kind: 'array', items: [] })
    else if (char === '}' || char === ']') this.#open.pop()
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

  #begin(container: Container): void {
    // The final check refuses what is deeper; until then it is left out.
    if (this.#open.length < deepestJson) this.#add(container)
    this.#open.push(container)
  }

  #endString(): void {
    this.#state = 'value'
    const text = this.#partialString()
    const top = this.#open.at(-1)
    if (top?.kind === 'object' && top.key === null) top.key = text
    else this.#add({ kind: 'scalar', value: text })
  }

  #endWord(): void {
    this.#state = 'value'
    try {
      this.#add({ kind: 'scalar', value: JSON.parse(this.#token) })
    } catch {
      // Not a JSON word: the final check of the whole answer says so.
    }
  }

  #add(node: Node): void {
    const top = this.#open.at(-1)
    if (!top) this.#root = node
    else if (top.kind === 'array') top.items.push(node)
    else if (top.key !== null) top.entries.set(top.key, node)
  }

  /** The string so far, without an escape that is not complete yet. */
  #partialString(): string {
    const isOpen = this.#state === 'escape'
    const whole = isOpen ? this.#token.slice(0, -1) : this.#token.replace(openUnicodeEscape, '$1')
    try {
      return JSON.parse(`"${whole}"`)
    } catch {
      return ''
    }
  }

  #copy(node: Node, reading: string | undefined, depth = 0): JsonValue {
    if (node.kind === 'scalar') return node.value
    // The final check refuses what nests this deep; a model must not overflow the stack until then.
    if (depth > deepestJson) return null
    const isInnermost = node === this.#open.at(-1)
    if (node.kind === 'array') {
      const items = node.items.map((item) => this.#copy(item, reading, depth + 1))
      return isInnermost && reading !== undefined ? [...items, reading] : items
    }
    const entries = [...node.entries].map(([key, item]): [string, JsonValue] => [
      key,
      this.#copy(item, reading, depth + 1),
    ])
    if (isInnermost && reading !== undefined && node.key !== null) entries.push([node.key, reading])
    return Object.fromEntries(entries)
  }
}

/** A `\u` escape with less than four digits; backslashes before it are pairs, which escape themselves. */
const openUnicodeEscape = /((?<!\\)(?:\\\\)*)\\u[\da-fA-F]{0,3}$/
