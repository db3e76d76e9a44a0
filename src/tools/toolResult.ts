import { copyJson, isJsonObject } from '../messages/json.ts'
import { partFlaw } from '../messages/messageFlaw.ts'
import type { DataPart, LinkPart, Part, ToolCallPart, ToolResultPart } from '../messages/messages.ts'

type Answered = Pick<ToolCallPart, 'id' | 'name'>
type Media = DataPart | LinkPart

/** A result longer than this is refused: it would only fill the model's context. */
const longestResult = 4 * 1024 * 1024
/** As base64, of all parts together. No provider takes more in one request. */
const largestMedia = 32 * 1024 * 1024
/** What is wrong can be said in less; a longer text is cut. */
const longestProblem = 10_000

export const errorResult = ({ id, name }: Answered, problem: string): ToolResultPart => ({
  type: 'toolResult',
  id,
  name,
  result: JSON.stringify({
    error: problem.length > longestProblem ? `${problem.slice(0, longestProblem)}…` : problem,
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
 * What a tool gave, as the model gets it: a string as it is; data, links and texts as parts; everything else as JSON.
 * Throws for what JSON cannot hold.
 */
export const toolResultOf = ({ id, name }: Answered, value: unknown): ToolResultPart => {
  const { text, media } = contentOf(value)
  const size = media.reduce((sum, part) => sum + (part.type === 'data' ? part.data.length : 0), 0)
  const isTooLong = text.length > longestResult || size > largestMedia
  if (isTooLong) {
    const allowed = `at most ${longestResult} characters of text and ${largestMedia} of base64 data are allowed`
    return errorResult({ id, name }, `The result has ${text.length + size} characters; ${allowed}.`)
  }
  const base: ToolResultPart = { type: 'toolResult', id, name, result: text }
  return media.length > 0 ? { ...base, parts: media } : base
}

const contentOf = (value: unknown): { text: string; media: Media[] } => {
  if (typeof value === 'string') return { text: value, media: [] }
  const parts = partsOf(value)
  // JSON has no word for undefined: a tool that returns nothing answers null.
  if (!parts) return { text: JSON.stringify(value) ?? 'null', media: [] }
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const media = parts.filter((part) => part.type === 'data' || part.type === 'link')
  return { text: texts.join('\n'), media: copyJson(media) as Media[] }
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

/** The result, if it is one: an executor of the user's may give anything. */
export const asToolResult = ({ id, name }: Answered, given: unknown): ToolResultPart => {
  const result = isJsonObject(given) && { ...given, type: 'toolResult', id, name }
  return isResult(result)
    ? (copyJson(result) as ToolResultPart)
    : errorResult({ id, name }, 'The tool executor gave no result for this call.')
}

const isResult = (value: unknown): value is ToolResultPart =>
  isJsonObject(value) && partFlaw(value) === undefined
