import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { type JsonObject, stableJson } from '../messages/json.ts'
import { checkOptions, checkValue, having, orWrite } from '../messages/optionRules.ts'
import { argumentCheck } from '../tools/argumentCheck.ts'
import { ignoreRejection } from '../tools/isThenable.ts'
import { type Tool, tool } from '../tools/tool.ts'
import { within } from '../transport/onAbort.ts'
import { type ActiveCall, runCall } from './call.ts'
import {
  type CallOptions,
  canRunTasks,
  listAll,
  type McpClient,
  readApp,
  sendCall,
  sendRequest,
} from './sdk.ts'
import { asServerTask } from './serverTask.ts'
import {
  limitsOf,
  type McpToolInfo,
  type McpToolOptions,
  readListed,
  toolOptionRules,
} from './toolOptions.ts'

/**
 * The tools that an MCP server lists now, for any connected client of the TypeScript SDK, version 1 or 2. The
 * connection stays yours. {@link connectMcp} makes a connection that follows changes and reconnects.
 *
 * @example
 * const tools = await mcpTools(client, { prefix: 'files_', include: ['read_file', 'write_file'] })
 * const agent = new Agent('openai:gpt-6-luna', { tools })
 */
export const mcpTools = async (client: McpClient, options: McpToolOptions = {}): Promise<Tool[]> => {
  const must = orWrite(having('listTools', 'callTool'), (value) =>
    typeof value === 'string' || 'url' in Object(value) || 'command' in Object(value)
      ? 'connectMcp({ url }) or connectMcp({ command, args })'
      : undefined,
  )
  checkValue('The client of mcpTools', client, must)
  checkOptions('The options of mcpTools', options, toolOptionRules)
  const list = new ToolList(options, {
    call: (name, args, callOptions) => sendCall(client, name, args, callOptions),
    app: (uri) => readApp(client, uri),
    request: canRunTasks(client) ? (...request) => sendRequest(client, ...request) : undefined,
  })
  list.take(await listAll(client))
  list.mustInclude()
  return [...list.tools]
}

/** The server of the tools. */
export type ToolServer = {
  /** Calls a tool by the name that the server gives it. */
  call(name: string, args: JsonObject, options: CallOptions, call: ActiveCall): Promise<unknown>
  /** Reads an app as the content of a result. */
  app(uri: string): Promise<JsonObject | undefined>
  /** Sends any other request, with a time limit. Absent where calls cannot run as tasks. */
  request?: ((method: string, params: JsonObject, timeoutMs: number) => Promise<unknown>) | undefined
}

/** The time that a result waits for its app, which a server may never send. */
const appWaitMs = 10_000

/** The longest list: more tools would fill the context of any model. */
const mostTools = 1000

/** The tools of one server, made from each list that it sends. */
export class ToolList {
  readonly #options: McpToolOptions
  readonly #server: ToolServer
  /** The apps that were read since the last list, by their addresses. */
  #apps = new Map<string, Promise<JsonObject | undefined>>()
  readonly #names: ToolNames
  #made = new Map<string, { json: string; tool: Tool }>()
  tools: readonly Tool[] = []

  constructor(options: McpToolOptions, server: ToolServer) {
    this.#options = options
    this.#server = server
    this.#names = new ToolNames(options.prefix ?? '')
  }

  /** Takes a new list. A tool that did not change stays the same object. */
  take(listed: readonly unknown[]): void {
    const { include } = this.#options
    // A function that rejects must not end the process.
    const onSkipped = (name: string, reason: string) =>
      ignoreRejection(this.#options.onSkipped?.(name, reason))
    const infos: McpToolInfo[] = []
    const seen = new Set<string>()
    for (const entry of listed) {
      const read = readListed(entry, this.#server.request !== undefined)
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
      if (!this.#names.has(info.name)) {
        onSkipped(info.name, `The server has listed more than ${mostNames} names: connect again.`)
        continue
      }
      const json = stableJson(info)
      const known = this.#made.get(info.name)
      try {
        made.set(info.name, known?.json === json ? known : { json, tool: this.#toolOf(info) })
      } catch (thrown) {
        onSkipped(info.name, describeThrown(thrown))
      }
    }
    this.#made = made
    this.#apps = new Map()
    this.tools = [...made.values()].map((each) => each.tool)
  }

  /** Refuses a server that does not list a tool that was asked for by name. */
  mustInclude(): void {
    const missing = this.#options.include?.filter((name) => !this.#made.has(name)) ?? []
    if (missing.length > 0)
      throw new ConfigurationError(`The MCP server does not offer ${missing.join(', ')}: check include.`)
  }

  #toolOf(info: McpToolInfo): Tool {
    const { needsApproval = isNotReadOnly, onInterrupted = 'unknown', maxResult, background } = this.#options
    const limits = limitsOf(this.#options)
    const interrupted = typeof onInterrupted === 'function' ? onInterrupted(info) : onInterrupted
    ignoreRejection(interrupted)
    const { $schema: _, ...jsonSchema } = info.inputSchema
    const made = tool({
      name: this.#names.of(info.name),
      description: info.description ?? info.title ?? info.annotations?.title ?? '',
      input: { jsonSchema, schema: argumentCheck(jsonSchema) },
      needsApproval:
        typeof needsApproval === 'function' ? (args: JsonObject) => needsApproval(info, args) : needsApproval,
      // `runCall` limits the time: progress renews it.
      timeoutMs: Number.POSITIVE_INFINITY,
      onInterrupted: interrupted,
      ...(maxResult !== undefined && { maxResult }),
      execute: (args: JsonObject, context) =>
        runCall(context, limits, async (options, call) => {
          const answer = await this.#server.call(info.name, args, options, call)
          return info.app === undefined ? answer : this.#withApp(answer, info.app)
        }),
    })
    const isTask = info.taskSupport === 'required' || (background && info.taskSupport === 'optional')
    const { request } = this.#server
    return isTask && request ? asServerTask(made, info.name, limits, request) : made
  }

  /** Adds the app that a tool declares to its result, as some servers do. Without the app, the result still counts. */
  async #withApp(answer: unknown, uri: string): Promise<unknown> {
    const { content = [], isError }: { content?: unknown; isError?: unknown } = Object(answer)
    const isThere = (block: unknown) => Object(Object(block).resource).uri === uri
    if (isError === true || !Array.isArray(content) || content.some(isThere)) return answer
    const read = this.#apps.get(uri) ?? this.#server.app(uri)
    this.#apps.set(uri, read)
    const app = await within(read, { ms: appWaitMs, timeout: () => new Error('late') }).catch(() => {
      this.#apps.delete(uri)
    })
    return app ? { ...Object(answer), content: [...content, app] } : answer
  }
}

const isNotReadOnly = ({ annotations }: McpToolInfo): boolean => annotations?.readOnlyHint !== true

/**
 * The most names that are kept for a server, over all its lists: a server whose names keep changing must not fill the
 * memory.
 */
const mostNames = 20_000

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
    const fresh = originals.filter((each) => !this.has(each)).slice(0, mostNames - this.#given.size)
    const wanted = fresh.map((each) => acceptable(this.#prefix + each))
    // Names that need no change come first, so that they stay as they are.
    for (const each of fresh) if (acceptable(this.#prefix + each) === this.#prefix + each) this.#give(each)
    const counts = new Map<string, number>()
    for (const name of wanted) counts.set(name, (counts.get(name) ?? 0) + 1)
    for (const each of fresh)
      if (!this.#given.has(each)) this.#give(each, counts.get(acceptable(this.#prefix + each)) === 1)
  }

  has(original: string): boolean {
    return this.#given.has(original)
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
