import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../messages/json.ts'

/** The material of a value: the user's words, the objects that tools returned, and a sentence for free text. */
export type Source = { text: string; records: readonly JsonObject[]; sentence: string }

/** A value that fits a schema. `isGuess`: the source lacked something that it needs. */
type Filled = { value: JsonValue; isGuess: boolean }

/** Makes a value for the schema. A source with several cities makes several: `nth` is the number of this one. */
export const fillSchema = (schema: JsonObject, source: Source, nth = 0): Filled => {
  const filler = new Filler(schema, source)
  const value = filler.fill(schema, '', 0, nth)
  return { value, isGuess: filler.isGuess }
}

/** The number of values that a text has for a schema: two cities are two. */
export const countOfValues = (schema: JsonObject, text: string): number => {
  const strings = Object.entries(objectOf(schema.properties)).filter(
    ([, property]) => isJsonObject(property) && property.type === 'string' && !property.enum,
  )
  const counts = strings.map(([name, property]) => valuesFor(name, objectOf(property), text).length)
  return Math.min(Math.max(1, ...counts), mostValues)
}

const mostValues = 5
const deepest = 8
const longestList = 100
const longestText = 10_000

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {})

class Filler {
  isGuess = false
  readonly #root: JsonObject
  readonly #source: Source
  readonly #numbers: number[]

  constructor(root: JsonObject, source: Source) {
    this.#root = root
    this.#source = source
    this.#numbers = numbersIn(source.text)
  }

  fill(schema: JsonObject, name: string, depth: number, nth: number): JsonValue {
    const plain = this.#resolve(schema)
    const type = typeOf(plain)
    const known = this.#recorded(name, nth)
    if (plain.const !== undefined) return plain.const
    if (Array.isArray(plain.enum)) return this.#choice(plain.enum, known)
    if (type === 'object') return this.#object(plain, depth, nth)
    if (type === 'array') return this.#array(plain, name, depth)
    if (type === 'integer' || type === 'number')
      return bounded(typeof known === 'number' ? known : (this.#numbers.shift() ?? this.#guess(1)), plain)
    if (type === 'boolean')
      return typeof known === 'boolean' ? known : this.#mentions(name) || this.#guess(false)
    if (type === 'null') return null
    // A record may break the promise of a format.
    const isText = typeof known === 'string' && plain.format === undefined
    return fitted(isText ? known : this.#string(plain, name, nth), plain)
  }

  /** Optional properties are left out, unless the source has them. */
  #object(schema: JsonObject, depth: number, nth: number): JsonObject {
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    const entries: [string, JsonValue][] = []
    for (const [name, property] of Object.entries(objectOf(schema.properties))) {
      if (!isJsonObject(property) || depth >= deepest) continue
      const before = this.isGuess
      this.isGuess = false
      const value = this.fill(property, name, depth + 1, nth)
      // Strict schemas require everything, and let optional values be null.
      if (this.isGuess && isNullable(property)) entries.push([name, null])
      else if (required.has(name) || !this.isGuess) entries.push([name, value])
      const isChoice = Array.isArray(property.enum) || typeOf(property) === 'boolean' || isNullable(property)
      this.isGuess = before || (required.has(name) && !isChoice && this.isGuess)
    }
    return Object.fromEntries(entries)
  }

  #array(schema: JsonObject, name: string, depth: number): JsonValue[] {
    const items = this.#resolve(objectOf(schema.items))
    const { records, text } = this.#source
    const least = typeof schema.minItems === 'number' ? schema.minItems : 1
    const most = Math.min(typeof schema.maxItems === 'number' ? schema.maxItems : 20, longestList)
    const isObject = typeOf(items) === 'object'
    const isNumber = typeOf(items) === 'number' || typeOf(items) === 'integer'
    const count = isObject
      ? records.length || countOfValues(items, text)
      : (isNumber ? this.#numbers : valuesFor(name, items, text)).length
    const length = Math.min(Math.max(count, least), most)
    return depth < deepest ? Array.from({ length }, (_, at) => this.fill(items, name, depth + 1, at)) : []
  }

  /** The value that a tool returned under this name. */
  #recorded(name: string, nth: number): JsonValue | undefined {
    const { records } = this.#source
    const record = records[nth % Math.max(1, records.length)]
    const key = record && Object.keys(record).find((each) => wordsOf(each) === wordsOf(name))
    return record && key !== undefined ? ownValue(record, key) : undefined
  }

  #choice(values: readonly JsonValue[], known: JsonValue | undefined): JsonValue {
    const found = values.find((value) => value === known || this.#mentions(String(value)))
    return found ?? this.#guess(values[0] ?? null)
  }

  #guess<T>(value: T): T {
    this.isGuess = true
    return value
  }

  #string(schema: JsonObject, name: string, nth: number): string {
    const { text, sentence } = this.#source
    const isFree = schema.format === undefined && /answer|summary|text|reason|note/.test(wordsOf(name))
    if (sentence !== '' && isFree) return sentence
    const found = valuesFor(name, schema, text)
    return found[nth] ?? found[0] ?? this.#guess(placeholders.get(schema.format) ?? text)
  }

  #mentions(name: string): boolean {
    return ` ${wordsOf(this.#source.text)} `.includes(` ${wordsOf(name)} `)
  }

  /** Follows references, and takes the first alternative that is not null. */
  #resolve(schema: JsonObject, depth = 0): JsonObject {
    if (depth > deepest) return { type: 'null' }
    if (typeof schema.$ref === 'string') return this.#resolve(this.#referred(schema.$ref), depth + 1)
    const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray) ?? []
    const schemas = alternatives.filter(isJsonObject)
    const first = schemas.find(({ type }) => type !== 'null') ?? schemas[0]
    return first ? this.#resolve(first, depth + 1) : schema
  }

  #referred(reference: string): JsonObject {
    const names = reference.split('/').filter((name) => name !== '#' && name !== '')
    return names.reduce((node, name) => objectOf(ownValue(node, name)), this.#root)
  }
}

const typeOf = ({ type, properties, items }: JsonObject): string => {
  const known = Array.isArray(type) ? type.find((each) => each !== 'null') : type
  if (typeof known === 'string') return known
  return properties ? 'object' : items ? 'array' : 'string'
}

const isNullable = ({ type, anyOf }: JsonObject): boolean =>
  [type, anyOf].some(
    (list) => Array.isArray(list) && list.some((each) => each === 'null' || objectOf(each).type === 'null'),
  )

const bounded = (number: number, schema: JsonObject): number => {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  const value = Math.min(Math.max(number, Number(minimum)), Number(maximum))
  return typeOf(schema) === 'integer' ? Math.floor(value) : value
}

const fitted = (text: string, { minLength, maxLength }: JsonObject): string => {
  const short = typeof maxLength === 'number' ? text.slice(0, maxLength) : text
  return typeof minLength === 'number' ? short.padEnd(Math.min(minLength, longestText), '.') : short
}

type Finder = (text: string) => string[]

const all =
  (pattern: RegExp): Finder =>
  (text) => [...new Set([...text.matchAll(pattern)].map((match) => match.slice(1).find(Boolean) ?? match[0]))]

export const filesIn: Finder = all(/(?:[\w.-]*\/)*[\w-]+\.[A-Za-z]\w*/g)
export const expressionsIn: Finder = (text) =>
  all(/[\d(][\d\s.()*/^+-]*[\d)]/g)(text).filter((found) => /\d\s*[-+*/^]\s*[\d(]/.test(found))
const quotesIn = all(/"([^"\n]+)"|“([^”\n]+)”/g)

/** Words with a capital letter. The first word of a sentence only counts in a list, or alone. */
const capitalsIn: Finder = (text) =>
  [...text.matchAll(/\p{Lu}[\p{L}'’-]+(?:\s\p{Lu}[\p{L}'’-]+)*/gu)]
    .filter(({ 0: found, index }) => {
      const isFirst = /(?:^|[.?!:\n])\s*$/.test(text.slice(0, index))
      return !isFirst || /^(?:,|\s(?:and|or)\s|[.?!]?\s*$)/.test(text.slice(index + found.length))
    })
    .map(([found]) => found)
    .filter((found, at, list) => list.indexOf(found) === at)

/** Numbers, in order. "Between 40 and 61" is the number in the middle. */
const numbersIn = (text: string): number[] => {
  const [, low, high] = /\bbetween (-?\d+) and (-?\d+)/i.exec(text) ?? []
  if (low !== undefined) return [(Number(low) + Number(high)) / 2]
  return all(/(?<![\w.])-?\d+(?:\.\d+)?(?!\w)/g)(text).map(Number)
}

/** Values for the formats, which no words of the user have. */
const placeholders = new Map<unknown, string>([
  ['date', '2000-01-01'],
  ['date-time', '2000-01-01T00:00:00Z'],
  ['email', 'someone@example.com'],
  ['uri', 'https://example.com'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
])

const byName: [RegExp, Finder][] = [
  [/expression|formula/, expressionsIn],
  [/path|file/, filesIn],
  [/mail/, all(/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g)],
  [/\bur[il]|link/, all(/\bhttps?:\/\/[^\s"')>]*[^\s"')>.,;?!]/g)],
  [/\bdate/, all(/\b\d{4}-\d\d-\d\d\b/g)],
  [
    /text|content|query|question|prompt|message|input|task|topic|instruction/,
    (text) => [quotesIn(text)[0] ?? text],
  ],
]

/** The values for a property: its name decides; otherwise they are quoted or have a capital letter. */
const valuesFor = (name: string, { format }: JsonObject, text: string): string[] => {
  if (format !== undefined) return []
  const find = byName.find(([pattern]) => pattern.test(wordsOf(name)))?.[1]
  if (find) return find(text)
  const quotes = quotesIn(text)
  return quotes.length > 0 ? quotes : capitalsIn(text)
}

/** Lower-case words: `cityName` and `city_name` are both "city name". */
export const wordsOf = (name: string): string =>
  name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '')
    .join(' ')
