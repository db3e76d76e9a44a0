import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'
import type { Facts } from './facts.ts'
import { namedFacts, wordsOf } from './namedFacts.ts'

/** What a value is made of: the facts of the question, what tools answered, and a sentence for free text. */
export type Source = { facts: Facts; records: readonly JsonObject[]; sentence: string }

export type Filled = { value: JsonValue; isGuess: boolean }

/** A value that fits the schema. `isGuess`: something it needs was named nowhere, and a stand-in was taken. */
export const fillSchema = (schema: JsonObject, source: Source, nth = 0): Filled => {
  const filler = new Filler(schema, source, nth)
  const value = filler.fill(schema, '', 0)
  return { value, isGuess: filler.isGuess }
}

/** How many different values the question has for the schema: two places are two calls. */
export const countOfSubjects = (schema: JsonObject, { facts }: Source): number => {
  const properties = Object.entries(objectOf(schema.properties))
  const counts = properties.map(([name, property]) =>
    isJsonObject(property) && property.type === 'string' && !property.enum
      ? (namedFacts(name, property, facts)?.length ?? 1)
      : 1,
  )
  return Math.min(Math.max(1, ...counts), mostCalls)
}

const mostCalls = 5
const deepest = 8
const longestList = 100
const longestText = 10_000

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})

class Filler {
  isGuess = false
  readonly #root: JsonObject
  readonly #source: Source
  readonly #nth: number
  #numbersUsed = 0

  constructor(root: JsonObject, source: Source, nth: number) {
    this.#root = root
    this.#source = source
    this.#nth = nth
  }

  fill(schema: JsonObject, name: string, depth: number, nth = this.#nth): JsonValue {
    const plain = this.#resolve(schema)
    if (plain.const !== undefined) return plain.const
    if (Array.isArray(plain.enum)) return this.#choice(plain.enum, name, nth)
    const known = this.#recorded(name, plain, nth)
    if (known !== undefined) return known
    switch (typeOf(plain)) {
      case 'object':
        return this.#object(plain, depth, nth)
      case 'array':
        return this.#array(plain, name, depth)
      case 'integer':
      case 'number':
        return this.#number(plain, name)
      case 'boolean':
        return this.#mentions(wordsOf(name))
      case 'null':
        return null
      default:
        return this.#string(plain, name, nth)
    }
  }

  #object(schema: JsonObject, depth: number, nth: number): JsonObject {
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    const entries = Object.entries(objectOf(schema.properties)).flatMap(
      ([name, property]): [string, JsonValue][] => {
        if (!isJsonObject(property)) return []
        if (required.has(name))
          return depth < deepest ? [[name, this.fill(property, name, depth + 1, nth)]] : []
        const before = this.isGuess
        this.isGuess = false
        const value =
          depth < 2 && this.#isAskedFor(property, name)
            ? this.fill(property, name, depth + 1, nth)
            : undefined
        const isKnown = value !== undefined && !this.isGuess
        this.isGuess = before
        return isKnown ? [[name, value]] : []
      },
    )
    return Object.fromEntries(entries)
  }

  /** Optional values are given only where the question has them. */
  #isAskedFor(schema: JsonObject, name: string): boolean {
    const plain = this.#resolve(schema)
    if (Array.isArray(plain.enum))
      return plain.enum.some((value) => this.#mentions(String(value).toLowerCase()))
    if (typeOf(plain) === 'boolean') return this.#mentions(wordsOf(name))
    if (this.#recorded(name, plain, this.#nth) !== undefined) return true
    if (typeOf(plain) === 'integer' || typeOf(plain) === 'number') return this.#mentions(wordsOf(name))
    return (
      (namedFacts(name, plain, this.#source.facts)?.length ?? 0) > 0 &&
      !/text|prompt|query/.test(wordsOf(name))
    )
  }

  #array(schema: JsonObject, name: string, depth: number): JsonValue[] {
    const items = this.#resolve(objectOf(schema.items))
    const { records, facts } = this.#source
    const least = typeof schema.minItems === 'number' ? schema.minItems : 1
    const most = Math.min(typeof schema.maxItems === 'number' ? schema.maxItems : 20, longestList)
    const count =
      typeOf(items) === 'object'
        ? records.length || countOfSubjects(items, this.#source)
        : this.#several(items, name, facts)
    const length = Math.min(Math.max(count, least), most)
    return depth < deepest ? Array.from({ length }, (_, nth) => this.fill(items, name, depth + 1, nth)) : []
  }

  #several(items: JsonObject, name: string, facts: Facts): number {
    if (Array.isArray(items.enum)) return 1
    if (typeOf(items) === 'number' || typeOf(items) === 'integer') return facts.numbers.length
    return namedFacts(name, items, facts)?.length ?? (facts.quotes.length || facts.names.length)
  }

  /** What a tool has already answered under the same name; a format is a promise that was not checked. */
  #recorded(name: string, schema: JsonObject, nth: number): JsonValue | undefined {
    const record = this.#source.records[nth % Math.max(1, this.#source.records.length)]
    const key = record && Object.keys(record).find((each) => wordsOf(each) === wordsOf(name))
    const value = record && key !== undefined ? ownValue(record, key) : undefined
    const type = typeOf(schema)
    if (typeof value === 'string' && type === 'string' && schema.format === undefined)
      return this.#fitted(value, schema)
    if (typeof value === 'number' && (type === 'number' || type === 'integer'))
      return this.#bounded(value, schema)
    return typeof value === 'boolean' && type === 'boolean' ? value : undefined
  }

  #choice(values: readonly JsonValue[], name: string, nth: number): JsonValue {
    const recorded = values.find((value) => value === this.#recorded(name, { type: typeof value }, nth))
    return (
      recorded ??
      values.find((value) => this.#mentions(String(value).toLowerCase().replace(/[_-]+/g, ' '))) ??
      values[0] ??
      null
    )
  }

  #number(schema: JsonObject, name: string): number {
    const { range, numbers, conversion } = this.#source.facts
    const isValue = conversion !== undefined && /value|amount|quantity|number/.test(wordsOf(name))
    const middle = range && (range[0] + range[1]) / 2
    const found = isValue ? conversion.value : (middle ?? numbers[this.#numbersUsed++])
    if (found === undefined) this.isGuess = true
    return this.#bounded(found ?? 1, schema)
  }

  #bounded(number: number, schema: JsonObject): number {
    const { minimum, maximum } = schema
    const low = typeof minimum === 'number' ? minimum : Number.NEGATIVE_INFINITY
    const high = typeof maximum === 'number' ? maximum : Number.POSITIVE_INFINITY
    const value = Math.min(Math.max(number, low), high)
    return typeOf(schema) === 'integer' ? Math.floor(value) : value
  }

  #string(schema: JsonObject, name: string, nth: number): string {
    const { facts, sentence } = this.#source
    if (
      sentence !== '' &&
      schema.format === undefined &&
      /answer|summary|text|explanation|description|reason|comment|note/.test(wordsOf(name))
    ) {
      return this.#fitted(sentence, schema)
    }
    const standIn = standIns.get(schema.format)
    const known =
      standIn === undefined
        ? namedFacts(name, schema, facts)
        : (stringFormats.get(schema.format)?.(facts) ?? [])
    if (known?.length === 0) this.isGuess = true
    const found = known?.[nth] ?? known?.[0] ?? standIn ?? facts.quotes[nth] ?? facts.names[nth]
    return this.#fitted(found ?? facts.text, schema)
  }

  #fitted(text: string, { minLength, maxLength }: JsonObject): string {
    const short = typeof maxLength === 'number' ? text.slice(0, maxLength) : text
    return typeof minLength === 'number' ? short.padEnd(Math.min(minLength, longestText), '.') : short
  }

  #mentions(words: string): boolean {
    const escaped = words.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    return (
      words !== '' &&
      new RegExp(String.raw`(?<![\p{L}\d])${escaped}(?![\p{L}\d])`, 'iu').test(this.#source.facts.text)
    )
  }

  /** Follows references and takes the first alternative that is not null. */
  #resolve(schema: JsonObject, depth = 0): JsonObject {
    const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray) ?? []
    const schemas = alternatives.filter(isJsonObject)
    const first = schemas.find(({ type }) => type !== 'null') ?? schemas[0]
    if (depth > deepest) return { type: 'null' }
    if (typeof schema.$ref === 'string') return this.#resolve(this.#referred(schema.$ref), depth + 1)
    return first
      ? this.#resolve(
          { ...first, ...(schema.description !== undefined && { description: schema.description }) },
          depth + 1,
        )
      : schema
  }

  #referred(reference: string): JsonObject {
    let node: JsonValue = this.#root
    for (const name of reference.replace(/^#\/?/, '').split('/')) {
      if (name !== '') node = (isJsonObject(node) ? ownValue(node, name) : undefined) ?? {}
    }
    return objectOf(node)
  }
}

const typeOf = ({ type, properties, items }: JsonObject): string => {
  const known = Array.isArray(type) ? type.find((each) => each !== 'null') : type
  if (typeof known === 'string') return known
  return properties ? 'object' : items ? 'array' : 'string'
}

const stringFormats = new Map<unknown, (facts: Facts) => readonly string[]>([
  ['date', ({ dates }) => dates.map((date) => date.slice(0, 10))],
  ['date-time', ({ dates }) => dates.filter((date) => date.length > 10)],
  ['email', ({ emails }) => emails],
  ['uri', ({ links }) => links],
])

const standIns = new Map<unknown, string>([
  ['date', '2000-01-01'],
  ['date-time', '2000-01-01T00:00:00Z'],
  ['email', 'someone@example.com'],
  ['uri', 'https://example.com'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
])
