import { Agent, type AnyAgent } from '../agent/Agent.ts'
import type { StoredRuns } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import { callable, checkOptions, type Rules, rule, wholeFrom, withDefaults } from '../messages/optionRules.ts'
import { longestTimerMs } from '../transport/onAbort.ts'
import { AgentChats, WaitingRuns } from './AgentChats.ts'
import type { Page } from './page.ts'
import type { ReportOptions } from './reports.ts'
import { HttpError } from './request.ts'
import { StoredChats } from './StoredChats.ts'
import { type Chats, noDetails, type TurnContext } from './turn.ts'

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

/** Options of the chat handlers. */
export type ChatHandlerOptions = HandlerOptions & {
  /** Allows or refuses the use of a chat. Default: anyone who knows the id of a chat may use it. */
  authorize?: (request: Request, chatId: string) => boolean | Promise<boolean>
  /**
   * Gives the tools their `context`; `page` has what the client sent, and shows data of your own. For stored runs the
   * context must be JSON. Default: none; for `aguiHandler`, `{ state, context, forwardedProps }` of the client.
   */
  context?: (request: Request, chatId: string, page: Page) => unknown
  /**
   * The name of the agent that answers in new chats of stored runs, or a function that chooses it. Not needed if there is
   * only one agent.
   */
  agent?: string | ((request: Request, chatId: string, body: JsonObject) => string | Promise<string>)
  /** The most chats of an agent that may wait for a decision; the oldest are dropped. Default: 1,000. */
  maxWaiting?: number
  /** The longest time that a chat of an agent may wait, in milliseconds. Default: a day. */
  maxWaitMs?: number
}

/** An agent, a function that chooses one for each request, or stored runs. The body is not to be trusted. */
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
  agent: rule('a text or a function', (value) => typeof value === 'string' || typeof value === 'function'),
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
export type FindChats = (request: Request, chatId: string, body: JsonObject) => Promise<Chats>

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
  if (typeof served !== 'function') throw notServed()
  return async (...asked) => {
    const agent = await served(...asked)
    if (agent instanceof Agent) return new AgentChats(agent, waiting)
    throw notServed()
  }
}

const notServed = () =>
  new ConfigurationError(
    'A chat needs an agent (new Agent(model)), a function that returns one, or stored runs with chats (openRuns of statewire/durable).',
  )

const isRuns = (served: unknown): served is StoredRuns => {
  const { chat, send } = Object(served)
  return typeof chat === 'function' && typeof send === 'function'
}

/** Refuses a client that may not use a chat, and makes the context of its tools. */
export const admission =
  ({ authorize, context }: ChatHandlerOptions) =>
  async (request: Request, chatId: string, page: Page): Promise<TurnContext> => {
    if (authorize && !(await authorize(request, chatId)))
      throw new HttpError(403, 'You may not use this chat.', 'forbidden')
    return { context: await context?.(request, chatId, page) }
  }

export const checkHandler = <Options extends HandlerOptions>(
  name: string,
  options: Options,
  rules: Rules<Options>,
): HandlerLimits => {
  checkOptions(`The options of ${name}`, options, rules)
  return withDefaults(handlerDefaults, options)
}
