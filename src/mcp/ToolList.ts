import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { type JsonObject, stableJson } from '../messages/json.ts'
import { type Tool, tool } from '../tools/tool.ts'
import type { CallOptions } from './client.ts'
import type { ActiveCall } from './runCall.ts'
import { runCall } from './runCall.ts'
import { type McpToolInfo, readListed } from './toolInfo.ts'
import { ToolNames } from './toolNames.ts'
import { limitsOf, type McpToolOptions } from './toolOptions.ts'

/** Calls a tool of the server by the server's own name. */
export type CallServer = (
  name: string,
  args: JsonObject,
  options: CallOptions,
  call: ActiveCall,
) => Promise<unknown>

/** More would fill the context of any model. */
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
    const { include, onSkipped = () => {} } = this.#options
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

  /** What was asked for by name must be there, at least at the beginning. */
  mustInclude(): void {
    const missing = this.#options.include?.filter((name) => !this.#made.has(name)) ?? []
    if (missing.length > 0)
      throw new ConfigurationError(`The MCP server does not offer ${missing.join(', ')}: check include.`)
  }

  #toolOf(info: McpToolInfo): Tool {
    const { needsApproval = needsOne, onInterrupted = 'unknown', maxResult } = this.#options
    const limits = limitsOf(this.#options)
    const { $schema: _, ...jsonSchema } = info.inputSchema
    return tool({
      name: this.#names.of(info.name),
      description: info.description ?? info.title ?? info.annotations?.title ?? '',
      input: { jsonSchema },
      needsApproval:
        typeof needsApproval === 'function' ? (args: JsonObject) => needsApproval(info, args) : needsApproval,
      // The call keeps its own time: progress renews it.
      timeoutMs: Number.POSITIVE_INFINITY,
      onInterrupted: typeof onInterrupted === 'function' ? onInterrupted(info) : onInterrupted,
      ...(maxResult !== undefined && { maxResult }),
      execute: (args: JsonObject, context) =>
        runCall(context, limits, (options, call) => this.#call(info.name, args, options, call)),
    })
  }
}

const needsOne = ({ annotations }: McpToolInfo): boolean => annotations?.readOnlyHint !== true
