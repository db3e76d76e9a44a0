import type { Client } from '@modelcontextprotocol/client'
import { ConfigurationError } from '../messages/errors.ts'
import {
  amount,
  checkOptions,
  checkSome,
  flag,
  type Rules,
  text,
  writtenAs,
} from '../messages/optionRules.ts'
import type { Tool, ToolSource } from '../tools/tool.ts'
import { commandRules, isUrl, type McpCommand, type McpUrl, urlRules, type Wire } from './endpoint.ts'
import { type AnswerQuestion, Questions } from './Questions.ts'
import { atMost, pause, Session } from './Session.ts'
import { type ClientSdk, canRunTasks, listAll, loadClient, readApp, sendCall, sendRequest } from './sdk.ts'
import { ToolList } from './ToolList.ts'
import { type McpToolOptions, toolOptionRules } from './toolOptions.ts'

type ConnectionSettings = {
  /** The name of this client for the server. Default: `statewire`. */
  name?: string
  /** The longest time to connect, and to list the tools. Default: 1 minute. */
  connectTimeoutMs?: number
  /**
   * Allows the server to ask the person a question while a tool runs. With `true` the run waits for an answer, as for an
   * external tool (`tool.external`, `run.answer`). A function asks by itself. Default: `false`.
   */
  elicitation?: boolean | AnswerQuestion
}

/**
 * A server, and options of its tools.
 *
 * @example
 * const options: McpConnectOptions = { url: 'https://example.com/mcp', headers: { authorization }, prefix: 'docs_' }
 */
export type McpConnectOptions = (McpUrl | McpCommand) & ConnectionSettings & McpToolOptions

const settingRules: Rules<ConnectionSettings> = {
  name: text,
  connectTimeoutMs: amount,
  elicitation: (name, value) => (typeof value === 'function' ? undefined : flag(name, value)),
}

const shared = { ...settingRules, ...toolOptionRules }

const oneServer = 'connectMcp({ command, args }) for each server, and tools: [one, other]'

/**
 * Connects to an MCP server: to a URL, or to a command that is started. Needs the package
 * `@modelcontextprotocol/client`. If you pass the connection itself to an agent, changed tools apply from the next step
 * of a run. The next call reopens a lost connection.
 *
 * @example
 * const files = await connectMcp({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] })
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather, files] })
 * await files.close()
 */
export const connectMcp = async (options: McpConnectOptions): Promise<McpConnection> => {
  if (typeof options === 'string')
    throw new ConfigurationError(
      'connectMcp takes options: write connectMcp({ url }) or connectMcp({ command, args }).',
    )
  checkSome('The options of connectMcp', options, { ...shared, mcpServers: writtenAs(oneServer) })
  if ('url' in options === 'command' in options)
    throw new ConfigurationError('connectMcp needs a url or a command, and not both.')
  if (isUrl(options)) checkOptions('The options of connectMcp', options, { ...shared, ...urlRules })
  else checkOptions('The options of connectMcp', options, { ...shared, ...commandRules })
  return await McpConnection.open(await loadClient(), options)
}

/**
 * A connection to an MCP server, made by {@link connectMcp}. As one of the tools of an agent, it offers the server's
 * current tools at each step.
 *
 * @example
 * const files = await connectMcp({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] })
 * const agent = new Agent('openai:gpt-6-luna', { tools: [files] })
 * const { resources } = await files.client.listResources()
 */
export class McpConnection implements ToolSource {
  readonly #session: Session
  readonly #list: ToolList

  private constructor(session: Session, list: ToolList) {
    this.#session = session
    this.#list = list
  }

  /** @internal Use `connectMcp`. */
  static async open(sdk: ClientSdk, options: McpConnectOptions): Promise<McpConnection> {
    const { name = 'statewire', connectTimeoutMs = 60_000, elicitation = false } = options
    const questions = new Questions(typeof elicitation === 'function' ? elicitation : undefined)
    const newClient = (wire: Wire): Client => {
      const client = new sdk.Client(
        { name, version: '1' },
        {
          capabilities: elicitation ? { elicitation: { form: {} } } : {},
          // On stdio the probe for newer servers starts the server twice, and takes seconds.
          versionNegotiation: { mode: wire === 'http' ? 'auto' : 'legacy' },
          listChanged: {
            tools: { autoRefresh: false, debounceMs: 0, onChanged: () => refresh?.request() },
          },
        },
      )
      if (elicitation) client.setRequestHandler('elicitation/create', questions.ask)
      return client
    }
    let refresh: Refresh | undefined
    const onRenewed = () => {
      refresh?.request()
      listen()
    }
    const session = await Session.open({ sdk, endpoint: options, connectTimeoutMs, newClient, onRenewed })
    const list = new ToolList(options, {
      call: async (tool, args, callOptions, call) => {
        const send = (client: Client) => sendCall(client, tool, args, callOptions)
        const answer = await questions.during(call, () => session.request(send, callOptions.signal))
        // Tools that the call has changed are there for the next step.
        await refresh?.settled()
        return answer
      },
      app: (uri) => session.request((client) => readApp(client, uri)),
      request: canRunTasks(session.client)
        ? (...request) => session.request((client) => sendRequest(client, ...request))
        : undefined,
    })
    const takeList = async () =>
      list.take(await session.request((client) => listAll(client, connectTimeoutMs)))
    refresh = new Refresh(takeList, session.end)
    const listen = () => void keepListening(session.client, () => refresh?.request(), session.end)
    try {
      await takeList()
      list.mustInclude()
      listen()
      return new McpConnection(session, list)
    } catch (thrown) {
      await session.close()
      throw thrown
    }
  }

  /** The tools that the server offers at this moment. */
  get tools(): readonly Tool[] {
    return this.#list.tools
  }

  /** Instructions of the server on how to use it: for the system prompt, if you trust the server. */
  get instructions(): string | undefined {
    return this.#session.client.getInstructions()
  }

  /** The client of the SDK: for resources, prompts and everything else. */
  get client(): Client {
    return this.#session.client
  }

  /** Closes the connection, and ends a server that was started for it. Calls that are running fail. */
  readonly close = (): Promise<void> => this.#session.close()
}

/** Gathers announcements, because some servers send five of them while they start. */
const debounceMs = 100
/** The longest time that a call waits for the list, which the server may never send. */
const longestWaitMs = 2000

/** Lists the tools of a server again when it announces changes: once for all announcements in a short time. */
class Refresh {
  readonly #list: () => Promise<void>
  readonly #end: AbortSignal
  /** The number of changes that the server announced. */
  #announced = 0
  /** The number of changes that are in the list. */
  #listed = 0
  #isRunning = false
  #round = Promise.resolve()

  constructor(list: () => Promise<void>, end: AbortSignal) {
    this.#list = list
    this.#end = end
  }

  /** Takes the announcement of a change. */
  readonly request = (): void => {
    this.#announced += 1
    if (!this.#isRunning) void this.#run()
  }

  /** Resolves once all announced changes are in the list, or when that takes too long. */
  async settled(): Promise<void> {
    if (this.#listed < this.#announced) await atMost(longestWaitMs, this.#until(this.#announced))
  }

  async #until(change: number): Promise<void> {
    while (this.#listed < change && !this.#end.aborted) await this.#round
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#listed < this.#announced && !this.#end.aborted) {
      this.#round = this.#once()
      await this.#round
    }
    this.#isRunning = false
  }

  async #once(): Promise<void> {
    await pause(debounceMs, this.#end)
    if (this.#end.aborted) return
    const announced = this.#announced
    // If this fails, the old list stays until the server announces another change.
    await this.#list().catch(() => {})
    this.#listed = announced
  }
}

const firstDelayMs = 1000
const longestDelayMs = 30_000

/**
 * Keeps open the stream on which newer servers announce changes. A broken stream is opened again, after longer and longer
 * pauses, and the tools are listed again. Ends with the connection.
 */
const keepListening = async (client: Client, onChange: () => void, end: AbortSignal): Promise<void> => {
  let subscription = client.autoOpenedSubscription
  let delay = firstDelayMs
  const { transport } = client
  while (subscription && (await subscription.closed) !== 'local') {
    subscription = undefined
    while (!subscription) {
      await pause(delay, end)
      if (end.aborted || client.transport !== transport) return
      delay = Math.min(delay * 2, longestDelayMs)
      subscription = await client.listen({ toolsListChanged: true }).catch(() => undefined)
    }
    delay = firstDelayMs
    onChange()
  }
}
