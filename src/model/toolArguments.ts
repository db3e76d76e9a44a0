import { describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import { isTooDeep, tooDeep } from '../messages/jsonDepth.ts'

type ParsedArguments = { arguments: JsonObject; argumentsRaw?: string; argumentsError?: string }

/**
 * Reads tool-call arguments as a provider sent them: a JSON text, or an object that is parsed already.
 * Nothing at all (`''`, `null`, `"null"`, missing) means no arguments. Anything but an object is refused with a
 * reason, never repaired: half a call must not run.
 */
export const parseArguments = (raw: unknown): ParsedArguments => {
  if (typeof raw !== 'string') return fromParsed(raw as JsonValue | undefined)
  if (raw.trim() === '') return { arguments: {} }
  if (isTooDeep(raw)) return refused(raw, `The arguments cannot be used: the text ${tooDeep}.`)
  let value: JsonValue
  try {
    value = JSON.parse(raw)
  } catch (error) {
    return refused(raw, `The arguments are not valid JSON: ${(error as Error).message}`)
  }
  const inexact = inexactInteger(raw)
  if (inexact !== undefined)
    return refused(raw, `The integer ${inexact} is too large to be passed on exactly: send it as a string.`)
  const parsed = fromValue(value)
  if (parsed.argumentsError) return { ...parsed, argumentsRaw: raw }
  if (!isJsonObject(value)) return parsed
  // The raw text is kept only where it carries more than the object does, so that replays stay byte for byte.
  return JSON.stringify(parsed.arguments) === raw ? parsed : { ...parsed, argumentsRaw: raw }
}

/** Finds an integer that would reach the tool as another one: numbers have 53 bits. */
const inexactInteger = (json: string): string | undefined => {
  if (!/\d{16}/.test(json)) return undefined
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?[\d.eE+-]{16,}/g) ?? []
  return numbers.find((each) => /^-?\d+$/.test(each) && String(Number(each)) !== each)
}

/** Arguments that came as an object: an integer of more than 53 bits has already been rounded. */
const fromParsed = (value: JsonValue | undefined): ParsedArguments => {
  const parsed = fromValue(value)
  const rounded = roundedIn(parsed.arguments)
  if (rounded === undefined) return parsed
  const problem = `An integer near ${rounded} is too large to be passed on exactly: send it as a string.`
  return refused(JSON.stringify(parsed.arguments), problem)
}

const roundedIn = (value: JsonValue | undefined): number | undefined => {
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) > 2 ** 53 - 1 && Math.abs(value) < 1e21
      ? value
      : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const each of Object.values(value)) {
    const found = roundedIn(each)
    if (found !== undefined) return found
  }
  return undefined
}

const fromValue = (value: JsonValue | undefined): ParsedArguments => {
  if (value === undefined || value === null || value === 'null' || value === '') return { arguments: {} }
  if (isJsonObject(value)) return nested(value)
  const kind = Array.isArray(value) ? 'an array' : `a ${typeof value}`
  return refused(JSON.stringify(value), `The arguments must be a JSON object, not ${kind}.`)
}

/** Arguments are walked through to be written, stored and checked: a bottomless object would overflow the stack. */
const nested = (value: JsonObject): ParsedArguments => {
  try {
    return { arguments: copyJson(value) as JsonObject }
  } catch (thrown) {
    return refused('{}', `The arguments cannot be read: ${describeThrown(thrown)}.`)
  }
}

const refused = (raw: string, problem: string): ParsedArguments => ({
  arguments: {},
  argumentsRaw: raw,
  argumentsError: problem,
})
