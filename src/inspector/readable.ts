import { describeThrown } from '../messages/errors.ts'
import type { JsonValue } from '../messages/json.ts'
import { hideSecrets } from './secrets.ts'

/** Limits on what is shown of a value. Anything beyond them is cut, and the cut says so. */
type ReadLimits = { depth: number; entries: number; values: number; characters: number }

const wholeValue: ReadLimits = { depth: 12, entries: 300, values: 8_000, characters: 20_000 }

/** Names of properties whose text is always a secret. */
const secretName =
  /^(?:authorization|proxy-authorization|cookie|set-cookie|password|passphrase|secret|client_?secret|private_?key|(?:x-)?api[-_]?key|(?:access|refresh|id|auth)?[-_]?token)$/i

/** A value that is not data, between brackets: `⟨function⟩`. */
const remark = (text: string): string => `⟨${text}⟩`

/**
 * Any value of a user's context as JSON that can be shown: circular, huge, hostile, with getters that throw. No user code is
 * called, except for the traps of a proxy. Secrets are replaced.
 */
export const readable = (
  value: unknown,
  secrets: readonly string[],
  limits: ReadLimits = wholeValue,
): JsonValue => new Reading(secrets, limits).read(value, 0)

/** A value in one short line. */
export const brief = (value: unknown, secrets: readonly string[], characters = 90): string => {
  const short = readable(value, secrets, { depth: 3, entries: 8, values: 40, characters })
  const text = typeof short === 'string' && short.startsWith('⟨') ? short : JSON.stringify(short)
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text
}

/** The first of the own properties, without calling a getter. */
export const entriesOf = (value: object, most: number): [string, unknown][] =>
  Object.keys(value)
    .slice(0, most)
    .map((key) => {
      const property = Object.getOwnPropertyDescriptor(value, key)
      return [key, property?.get ? remark('getter') : property?.value]
    })

export const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

class Reading {
  readonly #secrets: readonly string[]
  readonly #limits: ReadLimits
  readonly #around = new Set<object>()
  #valuesLeft: number

  constructor(secrets: readonly string[], limits: ReadLimits) {
    this.#secrets = secrets
    this.#limits = limits
    this.#valuesLeft = limits.values
  }

  read(value: unknown, depth: number): JsonValue {
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return Number.isFinite(value) ? value : remark(String(value))
      case 'boolean':
        return value
      case 'bigint':
        return remark(`${value}n`)
      case 'undefined':
        return remark('undefined')
      case 'symbol':
        return remark('symbol')
      case 'function':
        return remark('function')
      default:
        return typeof value === 'object' && value !== null ? this.#object(value, depth) : null
    }
  }

  #text(text: string): string {
    const { characters } = this.#limits
    // Secrets first: half of one would not be known as one.
    const safe = hideSecrets(text.slice(0, characters + 4_096), this.#secrets)
    if (safe.length <= characters && text.length <= characters + 4_096) return safe
    return `${safe.slice(0, characters)}${remark(`… ${text.length} characters in all`)}`
  }

  #object(value: object, depth: number): JsonValue {
    if (this.#around.has(value)) return remark('circular')
    if (depth >= this.#limits.depth || this.#valuesLeft <= 0) return remark('…')
    this.#around.add(value)
    try {
      return this.#content(value, depth)
    } catch (thrown) {
      return remark(`unreadable: ${this.#text(describeThrown(thrown)).slice(0, 80)}`)
    } finally {
      this.#around.delete(value)
    }
  }

  #content(value: object, depth: number): JsonValue {
    if (Array.isArray(value)) return this.#list(value, depth)
    if (isPlain(value)) return this.#record(value, depth)
    if (value instanceof Map) return { [remark('Map')]: this.#list([...value], depth) }
    if (value instanceof Set) return { [remark('Set')]: this.#list([...value], depth) }
    if (value instanceof Date) return remark(`Date ${value.getTime()}`)
    if (value instanceof Error) {
      const { name, message, cause } = value
      const own: object = Object.fromEntries(entriesOf(value, 50))
      return this.#record({ name, message, ...(cause !== undefined && { cause }), ...own }, depth)
    }
    if (ArrayBuffer.isView(value)) return remark(`${value.byteLength} bytes`)
    if ('sessionId' in value && 'send' in value) return remark('actor')
    return Object.keys(value).length === 0 ? remark(classOf(value)) : this.#record(value, depth)
  }

  #list(list: readonly unknown[], depth: number): JsonValue[] {
    const shown = list.slice(0, this.#limits.entries).map((each) => this.#next(each, depth))
    return shown.length < list.length ? [...shown, remark(`… ${list.length} in all`)] : shown
  }

  #record(value: object, depth: number): JsonValue {
    const { entries } = this.#limits
    const shown = entriesOf(value, entries).map(([key, each]): [string, JsonValue] => {
      const isSecret = secretName.test(key) && typeof each === 'string' && each !== ''
      return [this.#text(key), isSecret ? '***' : this.#next(each, depth)]
    })
    const all = Object.keys(value).length
    if (all > entries) shown.push([remark('…'), remark(`${all} in all`)])
    return Object.fromEntries(shown)
  }

  #next(value: unknown, depth: number): JsonValue {
    this.#valuesLeft -= 1
    return this.#valuesLeft < 0 ? remark('…') : this.read(value, depth + 1)
  }
}

const classOf = (value: object): string => {
  const maker = Object.getPrototypeOf(value)?.constructor
  return typeof maker === 'function' && maker.name !== '' ? maker.name : 'object'
}
