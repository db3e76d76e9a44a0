import { describeThrown } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import { isTooDeep, tooDeep } from '../messages/jsonDepth.ts'
import { readSchema } from '../schema/readSchema.ts'
import type { CompiledSchema, Validation } from './schema.ts'

/** A schema as providers take it. Its root must be an object, so any other value is wrapped as the `value` of one. */
export type WireSchema = {
  jsonSchema: JsonObject
  isWrapped: boolean
  validate: CompiledSchema<unknown>['validate']
}

export const wireSchemaOf = ({ jsonSchema, validate }: CompiledSchema<unknown>): WireSchema => {
  if (isPlainObject(jsonSchema)) return { jsonSchema, isWrapped: false, validate }
  // References are written from the root, and `#` is another root now.
  const { $defs, ...value } = readSchema(jsonSchema)
  return {
    jsonSchema: {
      type: 'object',
      properties: { value },
      required: ['value'],
      additionalProperties: false,
      ...($defs !== undefined && { $defs }),
    },
    isWrapped: true,
    validate,
  }
}

const isPlainObject = ({ type, anyOf, oneOf, allOf, $ref }: JsonObject): boolean =>
  type === 'object' && [anyOf, oneOf, allOf, $ref].every((other) => other === undefined)

/** The JSON of an answer, or what is wrong with it; one of the two is empty. `asked`: the JSON in the shape of the wire. */
export type ReadAnswer = { json: string; asked: string; problem: string }

/** Reads and checks the answer of a model. `value`: the value that the schema makes of it. */
export const readAnswer = async (
  answer: string,
  schema: WireSchema,
): Promise<ReadAnswer & { value?: unknown }> => {
  const parsed = parseAnswer(answer, schema)
  if (!parsed.ok) return misread(parsed.problem)
  const validation = await schema.validate(parsed.value)
  if (!validation.ok) return misread(validation.problem)
  const json = JSON.stringify(parsed.value)
  return {
    json,
    asked: schema.isWrapped ? `{"value":${json}}` : json,
    problem: '',
    value: validation.value,
  }
}

const misread = (problem: string): ReadAnswer => ({ json: '', asked: '', problem })

const parseAnswer = (answer: string, { isWrapped }: WireSchema): Validation<unknown> => {
  const text = withoutFence(answer)
  if (text === '') return { ok: false, problem: 'The answer is empty.' }
  if (isTooDeep(text)) return { ok: false, problem: `The answer ${tooDeep}.` }
  try {
    const value: unknown = parseLast(text)
    const isWrapper = isWrapped && isJsonObject(value) && Object.hasOwn(value, 'value')
    return { ok: true, value: isWrapper ? value.value : value }
  } catch (error) {
    return { ok: false, problem: `The answer is not valid JSON (${describeThrown(error)}).` }
  }
}

/** Parses a text, or the value at its end: an answer may be several messages, of which the last one is the value. */
const parseLast = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const last = lastValueIn(text)
    if (last === undefined) throw error
    return last
  }
}

/** The beginnings of a value that are tried: each costs a look at the whole text. */
const mostBeginnings = 8

const lastValueIn = (text: string): unknown => {
  let found: unknown
  for (let start = 0, tried = 0; tried < mostBeginnings; tried += 1) {
    start = nextBracket(text, start)
    const end = start < 0 ? -1 : endOfValue(text, start)
    if (start < 0) break
    const value = end < 0 ? undefined : parsedOr(undefined, text.slice(start, end))
    if (value !== undefined && text.slice(end).trim() === '') found = value
    start = value === undefined ? start + 1 : end
  }
  return found
}

const nextBracket = (text: string, from: number): number => {
  const found = text.slice(from).search(/[{[]/)
  return found < 0 ? -1 : from + found
}

/** The place after the value that begins with a bracket; -1 if it is not closed. */
const endOfValue = (text: string, start: number): number => {
  let depth = 0
  let isText = false
  for (let at = start; at < text.length; at += 1) {
    const char = text[at]
    if (isText && char === '\\') at += 1
    else if (char === '"') isText = !isText
    else if (!isText && (char === '{' || char === '[')) depth += 1
    else if (!isText && (char === '}' || char === ']')) depth -= 1
    if (depth === 0 && !isText) return at + 1
  }
  return -1
}

const parsedOr = <T>(otherwise: T, text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

/** Models that are only asked for JSON like to put it into a code block. */
const withoutFence = (answer: string): string =>
  /^```[a-z]*\s*\n([\s\S]*?)\n?```$/i.exec(answer.trim())?.[1]?.trim() ?? answer.trim()
