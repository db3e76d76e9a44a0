import { describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject } from '../messages/json.ts'
import { partFlaw } from '../messages/messageFlaw.ts'
import type { DataPart, LinkPart, Part, ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import { isThenable } from './isThenable.ts'

type Answered = Pick<ToolCallPart, 'id' | 'name'>
type Media = DataPart | LinkPart

/** The longest result for the model, unless its tool says otherwise: more would only fill its context. */
export const defaultMaxResult = 64 * 1024
/** The size of all parts together, as base64. No provider takes more in one request. */
const largestMedia = 32 * 1024 * 1024
/** An error fits in less; a longer text is cut. */
const longestProblem = 10_000

export const errorResult = ({ id, name }: Answered, problem: string): ToolResultPart => ({
  type: 'toolResult',
  id,
  name,
  result: JSON.stringify({
    error:
      problem.length > longestProblem ? `${problem.slice(0, wholeAt(problem, longestProblem))}…` : problem,
  }),
  isError: true,
})

/** The result of a call of a tool that is not offered. */
export const unknownTool = (call: Answered, names: readonly string[]): ToolResultPart => {
  const available = names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`
  return errorResult(call, `There is no tool named "${call.name}". ${available}`)
}

/** The result of a call whose arguments the tool does not take. */
export const misfit = (call: Answered, problem: string): ToolResultPart =>
  errorResult(call, `The arguments do not fit the schema of "${call.name}": ${problem}`)

/**
 * The result of a tool, as the model gets it: a string as it is; data, links and texts as parts; everything else as
 * JSON. A long text keeps its beginning and its end. Throws for values that JSON cannot hold.
 */
export const toolResultOf = (
  { id, name }: Answered,
  value: unknown,
  maxResult = defaultMaxResult,
): ToolResultPart => {
  const { text, media } = contentOf(value)
  const size = media.reduce((sum, part) => sum + (part.type === 'data' ? part.data.length : 0), 0)
  if (size > largestMedia)
    return errorResult(
      { id, name },
      `The files of the result have ${size} characters of base64; at most ${largestMedia} are allowed.`,
    )
  const base: ToolResultPart = { type: 'toolResult', id, name, result: shortened(text, maxResult) }
  return media.length > 0 ? { ...base, parts: media } : base
}

/** Two thirds of what is kept are of the beginning, the rest of the end; the model learns how much is missing. */
const shortened = (text: string, most: number): string => {
  if (text.length <= most) return text
  const head = wholeAt(text, Math.ceil((most * 2) / 3))
  const tail = wholeAt(text, text.length - Math.floor(most / 3))
  const missing = `[… ${tail - head} of ${text.length} characters are left out here: ask for less, or for a part …]`
  return `${text.slice(0, head)}\n${missing}\n${text.slice(tail)}`
}

/** A place near this one that does not part a character of two code units. */
const wholeAt = (text: string, index: number): number =>
  /^[\uDC00-\uDFFF]/.test(text[index] ?? '') ? index + 1 : index

const contentOf = (value: unknown): { text: string; media: Media[] } => {
  if (typeof value === 'string') return { text: value, media: [] }
  const parts = partsOf(value)
  if (!parts) return { text: jsonTextOf(value), media: [] }
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const media = parts.filter((part) => part.type === 'data' || part.type === 'link')
  return { text: texts.join('\n'), media: copyJson(media) as Media[] }
}

/** The JSON of a value. A value that JSON would silently empty is refused, so that a result is what the tool found. */
const jsonTextOf = (value: unknown): string => {
  const lost = lossOf(value)
  if (lost !== undefined) throw new TypeError(`its result is ${lost}`)
  const text = textOf(value)
  const inside = text.includes('{}') ? lossIn(value) : undefined
  if (inside !== undefined) throw new TypeError(`its result holds ${inside}`)
  return text
}

const textOf = (value: unknown): string => {
  try {
    // JSON has no undefined: a tool that returns nothing answers null.
    return JSON.stringify(value) ?? 'null'
  } catch (cause) {
    const problem = describeThrown(cause)
    const flaw = /bigint/i.test(problem)
      ? 'holds a BigInt, which JSON does not have: return String(value)'
      : `is not JSON: ${problem}`
    throw new TypeError(`its result ${flaw}`, { cause })
  }
}

/** The name of something that JSON empties, and what to return instead. */
const lossOf = (value: unknown): string | undefined => {
  if (typeof value === 'function') return 'a function: return what it returns'
  if (typeof value === 'symbol') return 'a symbol: return a string'
  if (typeof value !== 'object' || value === null) return undefined
  if (value instanceof Uint8Array || value instanceof ArrayBuffer)
    return 'bytes: return dataPart(mimeType, bytes), or their text'
  if ('toJSON' in value) return undefined
  if (value instanceof Map) return 'a Map, which JSON empties: return Object.fromEntries(map)'
  if (value instanceof Set) return 'a Set, which JSON empties: return [...set]'
  if (value instanceof Error) return 'an Error, which JSON empties: throw it, or return its message'
  if (isThenable(value)) return 'a promise: await it first'
  if ('arrayBuffer' in value)
    return 'a Response or a file: return await response.text(), or await response.json()'
  return Symbol.asyncIterator in value || ('next' in value && typeof value.next === 'function')
    ? 'a stream or an iterator: return a list of what it brings'
    : undefined
}

/** The first value inside of another that JSON empties. It has been written as JSON before, so it is a tree. */
const lossIn = (value: unknown): string | undefined => {
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    // Behind a `toJSON` may be anything, also a circle.
    if (typeof next !== 'object' || next === null || 'toJSON' in next) continue
    const lost = lossOf(next)
    if (lost !== undefined) return lost
    for (const each of Object.values(next)) open.push(each)
  }
  return undefined
}

/** A part, or a list of nothing but parts, is content; any other value is JSON. */
const partsOf = (value: unknown): Part[] | undefined => {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.length > 0 && list.every(isContent) ? [...list] : undefined
}

const isContent = (value: unknown): value is Part =>
  isJsonObject(value) &&
  (value.type === 'text' || value.type === 'data' || value.type === 'link') &&
  partFlaw(value) === undefined

/** The result, if it is one: a user's executor may return anything. */
export const asToolResult = ({ id, name }: Answered, given: unknown): ToolResultPart => {
  const result = isJsonObject(given) && { ...given, type: 'toolResult', id, name }
  return isResult(result)
    ? (copyJson(result) as ToolResultPart)
    : errorResult({ id, name }, 'The tool executor did not return a result for this call.')
}

const isResult = (value: unknown): value is ToolResultPart =>
  isJsonObject(value) && partFlaw(value) === undefined
