import type { Client } from '@modelcontextprotocol/client'
import type { Tool, ToolSource } from '../tools/tool.ts'
import { listAll, sendCall } from './client.ts'
import type { McpConnectOptions } from './connectMcp.ts'
import type { Wire } from './endpoint.ts'
import { keepListening } from './keepListening.ts'
import type { ClientSdk } from './loadSdk.ts'
import { Questions } from './Questions.ts'
import { Refresh } from './Refresh.ts'
import { Session } from './Session.ts'
import { ToolList } from './ToolList.ts'

/**
 * A connection to an MCP server, made by {@link connectMcp}. Among the tools of an agent it offers, at each step, the
 * server's tools at that moment.
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
    const list = new ToolList(options, async (tool, args, callOptions, call) => {
      const send = (client: Client) => sendCall(client, tool, args, callOptions)
      const answer = await questions.during(call, () => session.request(send, callOptions.signal))
      // What the call changed of the tools is there for the next step.
      await refresh?.settled()
      return answer
    })
    const takeList = async () => list.take(await session.request(listAll))
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

  /** What the server says about how to use it: for the system prompt, if you trust it. */
  get instructions(): string | undefined {
    return this.#session.client.getInstructions()
  }

  /** The client of the SDK: for resources, prompts and everything else. */
  get client(): Client {
    return this.#session.client
  }

  /** Closes the connection, and ends a server that was started for it. Calls that are on their way fail. */
  readonly close = (): Promise<void> => this.#session.close()
}
