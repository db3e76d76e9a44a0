import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { type JsonObject, stableJson } from '../messages/json.ts'
import { checkOptions, checkValue, having } from '../messages/optionRules.ts'
import { argumentCheck } from '../tools/argumentCheck.ts'
import { type Tool, tool } from '../tools/tool.ts'
import { type ActiveCall, runCall } from './call.ts'
import { type CallOptions, listAll, type McpClient, sendCall } from './sdk.ts'
import {
  limitsOf,
  type McpToolInfo,
  type McpToolOptions,
  readListed,
  toolOptionRules,
} from './toolOptions.ts'

/**
 * The tools that an MCP server lists now, for any connected client of the TypeScript SDK, version 1 or 2. The connection
 * stays yours. {@link connectMcp} makes a connection that follows changes and is opened again when it is lost.
 *
 * @example
 * const tools = await mcpTools(client, { prefix: 'files_', include: ['read_file', 'write_file'] })
 * const agent = new Agent('openai:gpt-6-luna', { tools })
 */
export const mcpTools = async (client: McpClient, options: McpToolOptions = {}): Promise<Tool[]> => {
  checkValue('The client of mcpTools', client, having('listTools', 'callTool'))
  checkOptions('The options of mcpTools', options, toolOptionRules)
  const list = new ToolList(options, (name, args, callOptions) => sendCall(client, name, args, callOptions))
  list.take(await listAll(client))
  list.mustInclude()
  return [...list.tools]
}

/** Calls a tool by the name that the server gives it. */
type CallServer = (name: string, args: JsonObject, options: CallOptions, call: ActiveCall) => Promise<unknown>

/** The longest list: more tools would fill the context of any model. */
const mostTools = 1000

/** The tools of one server, made from each list that it sends. */
export class ToolList {
  readonly #options: McpToolOptions
  readonly #call: CallServer
  readonly #names: ToolNames
  #made = new Map<string, { json: string; tool: Tool }>()
  tools: readonly Tool[] = []

  constructor(options: McpToolOptions, call: CallServer) {
    this.#options = options
    this.#call = call
    this.#names = new ToolNames(options.prefix ?? '')
  }

  /** Takes a new list. A tool that did not change stays the same object. */
  take(listed: readonly unknown[]): void {
    const { include } = this.#options
    // A function that rejects must not end the process.
    const onSkipped = (name: string, reason: string) =>
      void Promise.resolve(this.#options.onSkipped?.(name, reason)).catch(() => {})
    const infos: McpToolInfo[] = []
    const seen = new Set<string>()
    for (const entry of listed) {
      const read = readListed(entry)
      const name = 'info' in read ? read.info.name : read.name
      if (include && !include.includes(name)) continue
      if ('reason' in read) onSkipped(name, read.reason)
      else if (seen.has(name)) onSkipped(name, 'The server lists another tool of this name.')
      else if (infos.length === mostTools) onSkipped(name, `The server lists more than ${mostTools} tools.`)
      else infos.push(read.info)
      seen.add(name)
    }
    this.#names.add(infos.map(({ name }) => name))
    const made = new Map<string, { json: string; tool: Tool }>()
    for (const info of infos) {
      const json = stableJson(info)
      const known = this.#made.get(info.name)
      try {
        made.set(info.name, known?.json === json ? known : { json, tool: this.#toolOf(info) })
      } catch (thrown) {
        onSkipped(info.name, describeThrown(thrown))
      }
    }
    this.#made = made
    this.tools = [...made.values()].map((each) => each.tool)
  }

  /** Refuses a server that does not list a tool that was asked for by name. */
  mustInclude(): void {
    const missing = this.#options.include?.filter((name) => !this.#made.has(name)) ?? []
    if (missing.length > 0)
      throw new ConfigurationError(`The MCP server does not offer ${missing.join(', ')}: check include.`)
  }

  #toolOf(info: McpToolInfo): Tool {
    const { needsApproval = isNotReadOnly, onInterrupted = 'unknown', maxResult } = this.#options
    const limits = limitsOf(this.#options)
    const { $schema: _, ...jsonSchema } = info.inputSchema
    return tool({
      name: this.#names.of(info.name),
      description: info.description ?? info.title ?? info.annotations?.title ?? '',
      input: { jsonSchema, schema: argumentCheck(jsonSchema) },
      needsApproval:
        typeof needsApproval === 'function' ? (args: JsonObject) => needsApproval(info, args) : needsApproval,
      // `runCall` limits the time: progress renews it.
      timeoutMs: Number.POSITIVE_INFINITY,
      onInterrupted: typeof onInterrupted === 'function' ? onInterrupted(info) : onInterrupted,
      ...(maxResult !== undefined && { maxResult }),
      execute: (args: JsonObject, context) =>
        runCall(context, limits, (options, call) => this.#call(info.name, args, options, call)),
    })
  }
}

const isNotReadOnly = ({ annotations }: McpToolInfo): boolean => annotations?.readOnlyHint !== true

/** The longest name that every provider takes. */
const longestName = 64

const acceptable = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, longestName)

/**
 * The names of a server's tools for models: letters, digits, `_` and `-`, since providers take no others. A name stays with
 * its tool, so that a call that was approved never reaches another tool.
 */
export class ToolNames {
  readonly #prefix: string
  readonly #given = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Gives names to all of these. A changed name that equals another one ends in a hash of the original. */
  add(originals: readonly string[]): void {
    const fresh = originals.filter((each) => !this.#given.has(each))
    const wanted = fresh.map((each) => acceptable(this.#prefix + each))
    // Names that need no change come first, so that they stay as they are.
    for (const each of fresh) if (acceptable(this.#prefix + each) === this.#prefix + each) this.#give(each)
    const counts = new Map<string, number>()
    for (const name of wanted) counts.set(name, (counts.get(name) ?? 0) + 1)
    for (const each of fresh)
      if (!this.#given.has(each)) this.#give(each, counts.get(acceptable(this.#prefix + each)) === 1)
  }

  of(original: string): string {
    return this.#given.get(original) ?? acceptable(this.#prefix + original)
  }

  #give(original: string, isAlone = true): void {
    const plain = acceptable(this.#prefix + original)
    let name = plain
    for (let round = 0; this.#taken.has(name) || (name === plain && !isAlone); round += 1) {
      const mark = `_${hashOf(`${original}${round || ''}`)}`
      name = plain.slice(0, longestName - mark.length) + mark
    }
    this.#given.set(original, name)
    this.#taken.add(name)
  }
}

/** FNV-1a, which gives the same hash in every process. */
const hashOf = (text: string): string => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}
