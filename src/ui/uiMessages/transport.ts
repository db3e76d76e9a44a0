import { Agent } from '../../agent/Agent.ts'
import type { AnyAgent } from '../../agent/options.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import { callable, checkOptions, object, type Rules } from '../../messages/optionRules.ts'
import { safeText } from '../../messages/warn.ts'
import { AgentChats } from '../AgentChats.ts'
import { type Chats, noDetails } from '../turn.ts'
import { WaitingRuns } from '../WaitingRuns.ts'
import { clientVersion, showTurn, startTurn, type UiTurn } from './handler.ts'
import type { UiChunk, UiChunkOf } from './messages.ts'

/** Options of {@link AgentChatTransport}. */
export type AgentChatTransportOptions<Version extends 5 | 6 | 7 = 7> = {
  /** The agent that answers. */
  agent: AnyAgent
  /** Gives the tools their `context`. */
  context?: (chatId: string) => unknown
  /** The text of an error in the chat. Default: the error's message. */
  showError?: (error: unknown) => string
  /** The major version of `ai`. Default: 7. */
  clientVersion?: Version
}

/** The arguments that the AI SDK sends messages with. */
export type SentMessages = {
  trigger: 'submit-message' | 'regenerate-message'
  chatId: string
  messageId: string | undefined
  messages: readonly object[]
  abortSignal: AbortSignal | undefined
}

const rules: Rules<AgentChatTransportOptions<5 | 6 | 7>> = {
  agent: object,
  context: callable,
  showError: callable,
  clientVersion,
}

/**
 * Runs `useChat` on an agent in the same process: in a page without a server, in a terminal with Ink, in tests.
 *
 * @example const chat = useChat({ transport: new AgentChatTransport({ agent }) })
 */
export class AgentChatTransport<Version extends 5 | 6 | 7 = 7> {
  readonly #options: AgentChatTransportOptions<Version>
  readonly #chats: Chats

  constructor(options: AgentChatTransportOptions<Version>) {
    if (typeof options === 'string' || 'api' in Object(options))
      throw new ConfigurationError(
        "An AgentChatTransport runs an agent in this process: for a server write new DefaultChatTransport({ api }) of 'ai'.",
      )
    if (options instanceof Agent)
      throw new ConfigurationError('The agent is an option: write new AgentChatTransport({ agent }).')
    checkOptions('The options of AgentChatTransport', options, rules)
    const { agent } = options
    if (!(agent instanceof Agent))
      throw new ConfigurationError('An AgentChatTransport needs an agent: make it with new Agent(model).')
    this.#options = options
    this.#chats = new AgentChats(agent, new WaitingRuns(1000, Number.POSITIVE_INFINITY))
  }

  /** Called by the AI SDK. */
  async sendMessages(sent: SentMessages): Promise<ReadableStream<UiChunkOf<Version>>> {
    const { chatId, abortSignal, ...rest } = sent
    const context = { context: await this.#options.context?.(chatId) }
    // A copy, as over a network: the page may change its messages later.
    const turn = await startTurn(this.#chats, chatId, plain(rest), context)
    return this.#show(turn, abortSignal)
  }

  /** Called by the AI SDK. An answer ends when its reader leaves, so there is never one to resume. */
  async reconnectToStream(_: { chatId: string }): Promise<null> {
    return null
  }

  #show(turn: UiTurn, abortSignal: AbortSignal | undefined): ReadableStream<UiChunkOf<Version>> {
    const { clientVersion: version = 7 } = this.#options
    const showError = safeText(this.#options.showError ?? messageOf, noDetails())
    const left = new AbortController()
    const signal = abortSignal ? AbortSignal.any([abortSignal, left.signal]) : left.signal
    return new ReadableStream<UiChunkOf<Version>>({
      start: (controller) => {
        const send = (chunk: UiChunk) => {
          // The writer sends only chunks that this version understands.
          if (!left.signal.aborted) controller.enqueue(chunk as UiChunkOf<Version>)
        }
        void showTurn(
          turn,
          { send, clientVersion: version, showError },
          { ready: async () => {}, signal },
        ).then(() => {
          if (!left.signal.aborted) controller.close()
        })
      },
      cancel: () => left.abort('the reader has left'),
    })
  }
}

const plain = (sent: object): JsonObject => JSON.parse(JSON.stringify(sent))

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
