import { describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../messages/json.ts'
import { amount, callable, flag, listOf, oneOf, type Rules, rule, text } from '../messages/optionRules.ts'
import { defaultToolTimeoutMs, type OnInterrupted } from '../tools/tool.ts'
import type { TimeLimits } from './call.ts'

/**
 * Options of the tools of a server. None is required.
 *
 * @example
 * const options: McpToolOptions = {
 *   prefix: 'files_',
 *   needsApproval: ({ name }, args) => name !== 'read_file' || String(args.path).includes('secret'),
 * }
 */
export type McpToolOptions = {
  /** A prefix of every name, which keeps the tools of two servers apart: letters, digits, `_` and `-`. */
  prefix?: string
  /** The tools to offer, by the names that the server gives them. Default: all. */
  include?: readonly string[]
  /**
   * Asks a person to approve a call before it runs. The server itself marks its tools as read-only: use `true` for a
   * server that you do not trust. Default: all calls but those of read-only tools.
   */
  needsApproval?: boolean | ((tool: McpToolInfo, args: JsonObject) => boolean)
  /**
   * Runs tools in the background if the server can run them as tasks. Tools that only run as tasks always do.
   * `timeoutMs` then limits each request, and `maxTimeoutMs` the task. Default: `false`.
   */
  background?: boolean
  /** The longest time that a call may take without progress. Default: 5 minutes. */
  timeoutMs?: number
  /** The longest time of a call in all, without waits for a person. Default: 1 hour. */
  maxTimeoutMs?: number
  /** Decides what happens to a call whose process ended while it ran. Default: `'unknown'`, because a server cannot be trusted. */
  onInterrupted?: OnInterrupted | ((tool: McpToolInfo) => OnInterrupted)
  /** The longest result that the model gets, in characters. Default: 65,536. */
  maxResult?: number
  /** Gets each tool that cannot be offered, and the reason. */
  onSkipped?: (name: string, reason: string) => void
}

const functionOr =
  (otherwise: Rules<McpToolOptions>['prefix']): Rules<McpToolOptions>['prefix'] =>
  (name, value) =>
    typeof value === 'function' ? undefined : otherwise(name, value)

export const toolOptionRules: Rules<McpToolOptions> = {
  prefix: rule(
    'at most 32 letters, digits, _ or -',
    (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{0,32}$/.test(value),
  ),
  include: listOf(text),
  needsApproval: functionOr(flag),
  background: flag,
  timeoutMs: amount,
  maxTimeoutMs: amount,
  onInterrupted: functionOr(oneOf('unknown', 'rerun', 'ask')),
  maxResult: amount,
  onSkipped: callable,
}

export const limitsOf = ({ timeoutMs, maxTimeoutMs }: McpToolOptions): TimeLimits => {
  const idleMs = timeoutMs ?? defaultToolTimeoutMs
  return { idleMs, totalMs: Math.max(idleMs, maxTimeoutMs ?? 3_600_000) }
}

/**
 * The description of a tool by its server. It cannot be trusted: a server may call its tools harmless.
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
  /** Says if the server can run the tool as a task, or only as a task. */
  taskSupport?: 'optional' | 'required'
  /** The address of the app that shows its results in a page (`ui://…`). */
  app?: string
}

/** A tool that can be offered, or the reason why it cannot. */
export type Listed = { info: McpToolInfo } | { name: string; reason: string }

const longestName = 1000
const longestDescription = 16_000
const largestSchema = 256_000

/** Reads one entry of a server's list. `canRunTasks`: its tools can run as tasks. */
export const readListed = (entry: unknown, canRunTasks: boolean): Listed => {
  const given = Object(entry)
  const name: unknown = given.name
  if (typeof name !== 'string' || name === '' || name.length > longestName)
    return { name: '', reason: 'It has no usable name.' }
  if (Object(given.execution).taskSupport === 'required' && !canRunTasks)
    return {
      name,
      reason: 'It can only be run as a task, and the server or the client does not support that.',
    }
  try {
    const inputSchema = copyJson(given.inputSchema ?? { type: 'object' })
    if (!isJsonObject(inputSchema)) return { name, reason: 'The schema of its input is not an object.' }
    if (JSON.stringify(inputSchema).length > largestSchema)
      return { name, reason: `The schema of its input has more than ${largestSchema} characters.` }
    return { info: infoOf(name, given, inputSchema, canRunTasks) }
  } catch (thrown) {
    return { name, reason: `The schema of its input is not JSON: ${describeThrown(thrown)}` }
  }
}

const infoOf = (
  name: string,
  given: Record<string, unknown>,
  inputSchema: JsonObject,
  canRunTasks: boolean,
): McpToolInfo => {
  const { title, description, annotations, execution, _meta } = given
  const { taskSupport }: { taskSupport?: unknown } = Object(execution)
  const app = appIn(_meta)
  return {
    name,
    ...(typeof title === 'string' && { title: title.slice(0, longestName) }),
    ...(typeof description === 'string' && { description: description.slice(0, longestDescription) }),
    ...(isJsonObject(annotations) && { annotations: hintsOf(annotations) }),
    inputSchema,
    ...(canRunTasks && (taskSupport === 'optional' || taskSupport === 'required') && { taskSupport }),
    ...(app !== undefined && { app }),
  }
}

/** The address of an app, as MCP Apps name it, or as their first draft did. */
const appIn = (meta: unknown): string | undefined => {
  const { ui, 'ui/resourceUri': draft }: { ui?: unknown; 'ui/resourceUri'?: unknown } = Object(meta)
  const uri: unknown = Object(ui).resourceUri ?? draft
  return typeof uri === 'string' && /^ui:/i.test(uri) && uri.length <= longestName ? uri : undefined
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

const hintsOf = (given: JsonObject): NonNullable<McpToolInfo['annotations']> => ({
  ...(typeof given.title === 'string' && { title: given.title.slice(0, longestName) }),
  ...Object.fromEntries(hints.filter((hint) => typeof given[hint] === 'boolean').map((h) => [h, given[h]])),
})
