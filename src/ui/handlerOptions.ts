import { Agent, type AnyAgent } from '../agent/Agent.ts'
import type { StoredRuns } from '../durable/runs.ts'
import { ConfigurationError } from '../messages/errors.ts'
import {
  callable,
  checkOptions,
  type Rules,
  rule,
  text,
  wholeFrom,
  withDefaults,
} from '../messages/optionRules.ts'
import { AgentChats } from './AgentChats.ts'
import type { Chats, TurnContext } from './chats.ts'
import { Refusal } from './Refusal.ts'
import { StoredChats } from './StoredChats.ts'
import { WaitingRuns } from './WaitingRuns.ts'

/** Options of every handler. None is required. */
export type HandlerOptions = {
  /** The text of an error that a client sees. Default: only that there was one. */
  showError?: (error: unknown) => string
  /** How often an idle stream gets a keep-alive, in milliseconds. Default: 15,000. */
  keepAliveMs?: number
  /** The largest request, in bytes. Default: 4 MiB. */
  maxBodyBytes?: number
  /** How much a client may leave unread before it is disconnected, in bytes. Default: 1 MiB. */
  maxUnreadBytes?: number
}

/** Options of the chat handlers. */
export type ChatHandlerOptions = HandlerOptions & {
  /** Whether this client may use this chat. Default: anyone who knows the id of a chat may. */
  authorize?: (request: Request, chatId: string) => boolean | Promise<boolean>
  /** What the tools get as `context`. Of stored runs it must be JSON. */
  context?: (request: Request, chatId: string) => unknown
  /** Of stored runs: who answers in new chats. Not needed if there is only one agent. */
  agent?: string
  /** For an agent: how many chats may wait for a decision; the oldest are dropped. Default: 1,000. */
  maxWaiting?: number
  /** For an agent: how long a chat may wait, in milliseconds. Default: a day. */
  maxWaitMs?: number
}

/** An agent, or runs that are stored. */
export type Served = AnyAgent | StoredRuns

/** Timers take no more. */
const longestTimerMs = 2 ** 31 - 1
const interval = rule(
  `a whole number from 1 to ${longestTimerMs}`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= longestTimerMs,
)

export const handlerRules: Rules<HandlerOptions> = {
  showError: callable,
  keepAliveMs: interval,
  maxBodyBytes: wholeFrom(1),
  maxUnreadBytes: wholeFrom(1),
}

export const chatHandlerRules: Rules<ChatHandlerOptions> = {
  ...handlerRules,
  authorize: callable,
  context: callable,
  agent: text,
  maxWaiting: wholeFrom(1),
  maxWaitMs: wholeFrom(1),
}

export const handlerDefaults: Required<HandlerOptions> = {
  showError: () => 'Something went wrong.',
  keepAliveMs: 15_000,
  maxBodyBytes: 4 * 1024 * 1024,
  maxUnreadBytes: 1024 * 1024,
}

/** Where the chats of a handler live. */
export const chatsOf = (served: Served, options: ChatHandlerOptions): Chats => {
  if (served instanceof Agent) {
    const { maxWaiting = 1000, maxWaitMs = 24 * 3600_000 } = options
    return new AgentChats(served, new WaitingRuns(maxWaiting, maxWaitMs))
  }
  if (isRuns(served)) return new StoredChats(served, options.agent)
  throw new ConfigurationError(
    'A chat needs an agent (new Agent(model)), or stored runs with chats (openRuns of statewire/durable).',
  )
}

const isRuns = (served: unknown): served is StoredRuns => {
  const { chat, send } = Object(served)
  return typeof chat === 'function' && typeof send === 'function'
}

/** Lets a client in, or not, and says what its tools get. */
export const admission =
  ({ authorize, context }: ChatHandlerOptions) =>
  async (request: Request, chatId: string): Promise<TurnContext> => {
    if (authorize && !(await authorize(request, chatId)))
      throw new Refusal(403, 'This chat is not yours.', 'forbidden')
    return { context: await context?.(request, chatId) }
  }

export const checkHandler = <Options extends HandlerOptions>(
  name: string,
  options: Options,
  rules: Rules<Options>,
): Required<HandlerOptions> => {
  checkOptions(`The options of ${name}`, options, rules)
  return withDefaults(handlerDefaults, options)
}
