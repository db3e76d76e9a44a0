import { describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../messages/json.ts'

/**
 * What a server says of one of its tools. Nothing of it is checked by anyone: a server may call itself harmless.
 *
 * @example const isReader = ({ annotations }: McpToolInfo) => annotations?.readOnlyHint === true
 */
export type McpToolInfo = {
  /** The name that the server gave it. */
  name: string
  title?: string
  description?: string
  annotations?: {
    title?: string
    readOnlyHint?: boolean
    destructiveHint?: boolean
    idempotentHint?: boolean
    openWorldHint?: boolean
  }
  inputSchema: JsonObject
}

/** A tool that can be offered, or why it cannot. */
export type Listed = { info: McpToolInfo } | { name: string; reason: string }

const longestName = 1000
const longestDescription = 16_000
const largestSchema = 256_000

/** Reads one entry of a server's list. */
export const readListed = (entry: unknown): Listed => {
  const given = Object(entry)
  const name: unknown = given.name
  if (typeof name !== 'string' || name === '' || name.length > longestName)
    return { name: '', reason: 'It has no usable name.' }
  if (Object(given.execution).taskSupport === 'required')
    return { name, reason: 'It can only be run as a task, and tasks are not supported.' }
  try {
    const inputSchema = copyJson(given.inputSchema ?? { type: 'object' })
    if (!isJsonObject(inputSchema)) return { name, reason: 'The schema of its input is not an object.' }
    if (JSON.stringify(inputSchema).length > largestSchema)
      return { name, reason: `The schema of its input has more than ${largestSchema} characters.` }
    return { info: infoOf(name, given, inputSchema) }
  } catch (thrown) {
    return { name, reason: `The schema of its input is not JSON: ${describeThrown(thrown)}` }
  }
}

const infoOf = (name: string, given: Record<string, unknown>, inputSchema: JsonObject): McpToolInfo => {
  const { title, description, annotations } = given
  return {
    name,
    ...(typeof title === 'string' && { title: title.slice(0, longestName) }),
    ...(typeof description === 'string' && { description: description.slice(0, longestDescription) }),
    ...(isJsonObject(annotations) && { annotations: hintsOf(annotations) }),
    inputSchema,
  }
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

const hintsOf = (given: JsonObject): NonNullable<McpToolInfo['annotations']> => ({
  ...(typeof given.title === 'string' && { title: given.title.slice(0, longestName) }),
  ...Object.fromEntries(hints.filter((hint) => typeof given[hint] === 'boolean').map((h) => [h, given[h]])),
})
