import type { AnyActorLogic } from 'xstate'
import { Agent } from '../agent/Agent.ts'
import type { AnyAgent } from '../agent/options.ts'
import type { StoredRuns } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import { callable, checkOptions, type Rules, rule, wholeFrom, withDefaults } from '../messages/optionRules.ts'
import { safeText } from '../messages/warn.ts'
import { longestTimerMs } from '../transport/onAbort.ts'
import { AgentChats } from './AgentChats.ts'
import type { Page } from './page.ts'
import type { ReportOptions } from './reports.ts'
import { HttpError } from './request.ts'
import { StoredChats } from './StoredChats.ts'
import { type Chats, noDetails, type TurnContext } from './turn.ts'
import { WaitingRuns } from './WaitingRuns.ts'

/** Options of every handler. None is required. */
export type HandlerOptions = ReportOptions & {
  /** The text of an error that a client sees. Default: only that there was one. */
  showError?: (error: unknown) => string
  /** The time between keep-alives of an idle stream, in milliseconds. Default: 15,000. */
  keepAliveMs?: number
  /** The largest request, in bytes. Default: 4 MiB. */
  maxBodyBytes?: number
  /** The most that a client may leave unread before it is disconnected, in bytes. Default: 1 MiB. */
  maxUnreadBytes?: number
}

/** The context of the tools of an agent, for each request: required where one of its tools needs it. */
type RequestContext<For> =
  For extends Agent<infer Deps, infer Machine>
    ? [undefined, Machine] extends [Deps, AnyActorLogic]
      ? OptionalContext<Deps>
      : {
          /** Gives the tools their `context`; `page` has what the client sent, and shows data of your own. */
          context: (request: Request, chatId: string, page: Page) => Deps | Promise<Deps>
        }
    : For extends (...args: never) => infer Chosen
      ? RequestContext<Awaited<Chosen>>
      : OptionalContext<unknown>

type OptionalContext<Deps> = {
  /**
   * Gives the tools their `context`; `page` has the body of the request, and shows your own data. For stored runs the
   * context must be JSON. Default: none; for `aguiHandler`, `{ state, context, forwardedProps }` of the client.
   */
  context?: (request: Request, chatId: string, page: Page) => Deps | Promise<Deps>
}

/** Options of the chat handlers. */
export type ChatHandlerOptions<For extends Served = Served> = HandlerOptions &
  RequestContext<For> & {
    /** Allows or refuses the use of a chat. Default: anyone who knows the id of a chat may use it. */
    authorize?: (request: Request, chatId: string) => boolean | Promise<boolean>
    /**
     * The name of the agent that answers in new chats of stored runs, or a function that chooses it. Not needed if there is
     * only one agent.
     */
    agent?: string | ((request: Request, chatId: string, body: JsonObject) => string | Promise<string>)
    /**
     * Names the client of a request, such as its user or its address. When the room for waiting chats of an agent is
     * full, the client that uses most drops a chat. Default: all requests are of one client.
     */
    client?: (request: Request, chatId: string) => string | Promise<string>
    /** The most chats of an agent that may wait for a decision; the oldest are dropped. Default: 1,000. */
    maxWaiting?: number
    /** The longest time that a chat of an agent may wait, in milliseconds. Default: a day. */
    maxWaitMs?: number
  }

/** An agent, a function that chooses one for each request, or stored runs. The body cannot be trusted. */
export type Served =
  | AnyAgent
  | ((request: Request, chatId: string, body: JsonObject) => AnyAgent | Promise<AnyAgent>)
  | StoredRuns

const interval = rule(
  `a whole number from 1 to ${longestTimerMs}`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= longestTimerMs,
)

export const handlerRules: Rules<HandlerOptions> = {
  onError: callable,
  onFinish: callable,
  showError: callable,
  keepAliveMs: interval,
  maxBodyBytes: wholeFrom(1),
  maxUnreadBytes: wholeFrom(1),
}

export const chatHandlerRules: Rules<ChatHandlerOptions> = {
  ...handlerRules,
  authorize: callable,
  context: callable,
  client: callable,
  agent: rule('a string or a function', (value) => typeof value === 'string' || typeof value === 'function'),
  maxWaiting: wholeFrom(1),
  maxWaitMs: wholeFrom(1),
}

type HandlerLimits = Required<Omit<HandlerOptions, keyof ReportOptions>>

export const handlerDefaults: HandlerLimits = {
  showError: noDetails,
  keepAliveMs: 15_000,
  maxBodyBytes: 4 * 1024 * 1024,
  maxUnreadBytes: 1024 * 1024,
}

/** Finds the chats for a request. */
type FindChats = (request: Request, chatId: string, body: JsonObject) => Promise<Chats>

/** The chats of a handler: those of an agent, or stored ones. */
export const chatsOf = (served: Served, options: ChatHandlerOptions): FindChats => {
  const { agent: named, maxWaiting = 1000, maxWaitMs = 24 * 3600_000 } = options
  if (isRuns(served))
    return async (...asked) =>
      new StoredChats(served, typeof named === 'function' ? await named(...asked) : named)
  const waiting = new WaitingRuns(maxWaiting, maxWaitMs)
  if (served instanceof Agent) {
    const chats = new AgentChats(served, waiting)
    return async () => chats
  }
  if (typeof served !== 'function') throw notServed(served)
  return async (...asked) => {
    const agent = await served(...asked)
    if (agent instanceof Agent) return new AgentChats(agent, waiting)
    throw notServed(agent)
  }
}

const notServed = (served: unknown) => {
  const what =
    'A chat needs an agent (new Agent(model)), a function that returns one, or stored runs with chats (openRuns of statewire/durable)'
  const isInside = Object(Object(served).agent) instanceof Agent
  return new ConfigurationError(
    isInside ? `${what}: write the agent alone, and then the options.` : `${what}.`,
  )
}

const isRuns = (served: unknown): served is StoredRuns => {
  const { chat, send } = Object(served)
  return typeof chat === 'function' && typeof send === 'function'
}

/** Refuses a client that may not use a chat, and makes the context of its tools. */
export const admission =
  ({ authorize, context, client }: ChatHandlerOptions) =>
  async (request: Request, chatId: string, page: Page): Promise<TurnContext> => {
    if (authorize && !(await authorize(request, chatId)))
      throw new HttpError(403, 'You may not use this chat.', 'forbidden')
    return {
      context: await context?.(request, chatId, page),
      ...(client && { client: String(await client(request, chatId)) }),
    }
  }

export const checkHandler = <Options extends HandlerOptions>(
  name: string,
  options: Options,
  rules: Rules<Options>,
): HandlerLimits => {
  checkOptions(`The options of ${name}`, options, rules)
  const limits = withDefaults(handlerDefaults, options)
  return { ...limits, showError: safeText(limits.showError, noDetails()) }
}
