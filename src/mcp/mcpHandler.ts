import type {
  CallToolResult,
  InputRequiredResult,
  McpHttpHandler,
  McpServer,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { AnyRun } from '../agent/Run.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import {
  amount,
  callable,
  checkOptions,
  checkValue,
  having,
  listOf,
  members,
  type Rules,
  text,
} from '../messages/optionRules.ts'
import { safeText } from '../messages/warn.ts'
import { defaultToolTimeoutMs } from '../tools/tool.ts'
import { ClientQuestions, type Decided, WaitingInMemory, type WaitingStore } from './ClientQuestions.ts'
import { loadServer } from './sdk.ts'

/** An agent with any context. */
type ServedAgent = {
  readonly name: string | undefined
  start(from: string | Decided, options: { signal: AbortSignal; context: never }): AnyRun
}

/**
 * An agent that is served as a tool, or an agent with a description for its callers.
 *
 * @example const served: McpServed = { agent, description: 'Knows the weather of every city' }
 */
export type McpServed = ServedAgent | { agent: ServedAgent; description: string }

/**
 * Options of {@link mcpHandler}. None is required.
 *
 * @example const options: McpHandlerOptions = { name: 'weather', timeoutMs: 60_000 }
 */
export type McpHandlerOptions = {
  /** The name of the server. Default: `statewire`. */
  name?: string
  /** The longest time for an answer: older clients cannot cancel. Default: 5 minutes. */
  timeoutMs?: number
  /** Gives the agent's tools their `context`, made from the request: the user who signed in, for example. */
  context?: (request: Request) => unknown | Promise<unknown>
  /**
   * The origins of web pages that may ask, such as `https://example.com`. Other programs send no origin. Default: none,
   * so that no web page can use a server on this machine.
   */
  origins?: readonly string[]
  /** The allowed names of the server, as in the header `Host`. Default: all. */
  hosts?: readonly string[]
  /** The text of an error that a client sees. Default: only that there was one. */
  showError?: (error: unknown) => string
  /** Keeps runs that wait until the client has decided on a call. Default: in memory, the newest 1,000. */
  waiting?: WaitingStore
}

/**
 * Answers requests of MCP clients; `close` ends those that are being answered.
 *
 * @example Bun.serve({ routes: { '/mcp': handler } })
 */
export type McpHandler = ((request: Request) => Promise<Response>) & { close(): Promise<void> }

const rules: Rules<McpHandlerOptions> = {
  name: text,
  timeoutMs: amount,
  context: callable,
  origins: listOf(text),
  hosts: listOf(text),
  showError: callable,
  waiting: members({ get: callable, set: callable, delete: callable }),
}

const noAnswer = 'The agent could not answer.'

const promptSchema: JsonObject = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The whole task, with everything needed to do it.' } },
  required: ['prompt'],
}

/**
 * Serves agents over MCP (streamable HTTP): each is a tool that takes a prompt and gives the agent's answer. Needs the
 * package `@modelcontextprotocol/server`. Anyone who can reach the handler may ask: put your authentication before it.
 *
 * @example
 * const handler = mcpHandler({ ask: agent })
 * export const POST = handler
 *
 * @example
 * mcpHandler({ ask_weather: { agent, description: 'Knows the weather of every city' } }, { name: 'weather' })
 */
export const mcpHandler = (
  agents: Readonly<Record<string, McpServed>>,
  options: McpHandlerOptions = {},
): McpHandler => {
  checkOptions('The options of mcpHandler', options, rules)
  const served = Object.entries(Object(agents) as Record<string, McpServed>).map(([name, each]) => {
    const { agent, description } =
      'agent' in Object(each)
        ? (each as Exclude<McpServed, ServedAgent>)
        : { agent: each as ServedAgent, description: undefined }
    checkValue(`The agent "${name}" of mcpHandler`, agent, having('start'))
    const shown = description ?? `Asks the agent ${agent.name ?? name}. It sees nothing but the prompt.`
    return { name, agent, description: shown }
  })
  if (served.length === 0)
    throw new ConfigurationError('mcpHandler needs an agent: mcpHandler({ ask: agent }).')
  if (served.some(({ name }) => !/^[A-Za-z0-9_.-]{1,64}$/.test(name)))
    throw new ConfigurationError(
      'Each name of mcpHandler becomes the name of a tool: 1 to 64 letters, digits, _, - and dots.',
    )
  const { name = 'statewire', timeoutMs = defaultToolTimeoutMs, context = () => undefined } = options
  const { origins = [], hosts } = options
  const showError = safeText(options.showError ?? (() => noAnswer), noAnswer)
  const { waiting = new WaitingInMemory() } = options

  const open = async (): Promise<McpHttpHandler> => {
    const sdk = await loadServer()
    const { createMcpHandler, McpServer, fromJsonSchema } = sdk
    const questions = new ClientQuestions(sdk, waiting)
    const inputSchema = fromJsonSchema<{ prompt: string }>(promptSchema)
    return createMcpHandler(({ requestInfo }) => {
      const server: McpServer = new McpServer({ name, version: '1' })
      for (const { name: tool, agent, description } of served)
        server.registerTool(tool, { description, inputSchema }, ({ prompt }, { mcpReq }) => {
          const signals = [mcpReq.signal, AbortSignal.timeout(Math.min(timeoutMs, 2 ** 31 - 1))]
          if (requestInfo) signals.push(requestInfo.signal)
          const signal = AbortSignal.any(signals)
          const start = async (from: string | Decided): Promise<AnyRun> =>
            // Only the user can give the types of the agent's tools.
            agent.start(from, { signal, context: (requestInfo && (await context(requestInfo))) as never })
          return answer({ tool, prompt, start, questions, showError }, mcpReq)
        })
      return server
    })
  }
  let opened: Promise<McpHttpHandler> | undefined
  const handler = async (request: Request): Promise<Response> => {
    const refusal = refusalOf(request, origins, hosts)
    if (refusal !== undefined) return new Response(refusal, { status: 403 })
    opened ??= open()
    return await (await opened).fetch(request)
  }
  const close = async () => await (await opened)?.close()
  return Object.assign(handler, { close })
}

/** Says why a request is refused. A browser sends the origin of its page, even to a name that leads to this machine. */
const refusalOf = (
  { headers, url }: Request,
  origins: readonly string[],
  hosts: readonly string[] | undefined,
): string | undefined => {
  const origin = headers.get('origin')
  if (origin !== null && !origins.includes(origin))
    return 'This origin may not use the server: list it in origins of mcpHandler.'
  if (hosts && !hosts.includes(headers.get('host') ?? new URL(url).host))
    return 'The server may not be reached under this name: list it in hosts of mcpHandler.'
  return undefined
}

type Call = {
  tool: string
  prompt: string
  start: (from: string | Decided) => Promise<AnyRun>
  questions: ClientQuestions
  showError: (error: unknown) => string
}

/**
 * Answers a call. Clients that ask for progress get the text as it grows; clients that support questions decide on
 * calls.
 */
const answer = async (
  { tool, prompt, start, questions, showError }: Call,
  asked: ServerContext['mcpReq'],
): Promise<CallToolResult | InputRequiredResult> => {
  const { _meta, notify } = asked
  const progressToken = _meta?.progressToken
  try {
    const decided = await questions.decided(tool, asked)
    if (decided && 'refusal' in decided) return decided.refusal
    const run = await start(decided ?? prompt)
    let progress = 0
    run.on('chunk', ({ output: message }) => {
      if (progressToken === undefined || message === '') return
      progress += message.length
      // The client may be gone.
      notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(
        () => {},
      )
    })
    const { answer: text, pendingApproval } = await run.result
    if (!pendingApproval) return { content: [{ type: 'text', text }] }
    if (questions.canAsk(asked, pendingApproval.calls)) return await questions.ask(tool, pendingApproval)
    run.abort('there is no one to ask')
    const waiting = pendingApproval.calls.map((call) => call.name).join(', ')
    return failed(
      `The agent needs a decision on ${waiting}, and this client cannot be asked: give the agent onApproval.`,
    )
  } catch (thrown) {
    return failed(showError(thrown))
  }
}

const failed = (problem: string): CallToolResult => ({
  content: [{ type: 'text', text: problem }],
  isError: true,
})
