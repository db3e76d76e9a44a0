import { Agent, type AnyAgent } from '../../agent/Agent.ts'
import { ConfigurationError } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import { callable, checkOptions, object, type Rules, rule } from '../../messages/optionRules.ts'
import { AgentChats } from '../AgentChats.ts'
import type { Chats } from '../chats.ts'
import { WaitingRuns } from '../WaitingRuns.ts'
import type { UiChunk, UiChunkOf } from './uiChunks.ts'
import { showTurn, type UiTurn, uiTurn } from './uiTurn.ts'

/** What an {@link AgentChatTransport} is made of. */
export type AgentChatTransportOptions<Version extends 5 | 6 | 7 = 7> = {
  /** Who answers. */
  agent: AnyAgent
  /** What the tools get as `context`. */
  context?: (chatId: string) => unknown
  /** What the chat shows of an error. Default: its message. */
  showError?: (error: unknown) => string
  /** The major version of `ai`. Default: 7. */
  clientVersion?: Version
}

/** What the AI SDK gives with a message. */
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
  clientVersion: rule('5, 6 or 7', (value) => value === 5 || value === 6 || value === 7),
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
    checkOptions('What an AgentChatTransport takes', options, rules)
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
    // As it would come over a wire: what the page changes later is not ours.
    const turn = await uiTurn(this.#chats, chatId, plain(rest), context)
    return this.#show(turn, abortSignal)
  }

  /** Called by the AI SDK: an answer ends with its reader, so there is never one to resume. */
  async reconnectToStream(_: { chatId: string }): Promise<null> {
    return null
  }

  #show(turn: UiTurn, abortSignal: AbortSignal | undefined): ReadableStream<UiChunkOf<Version>> {
    const { clientVersion = 7, showError = messageOf } = this.#options
    const left = new AbortController()
    const signal = abortSignal ? AbortSignal.any([abortSignal, left.signal]) : left.signal
    return new ReadableStream<UiChunkOf<Version>>({
      start: (controller) => {
        const send = (chunk: UiChunk) => {
          // The writer sends a version only what it knows.
          if (!left.signal.aborted) controller.enqueue(chunk as UiChunkOf<Version>)
        }
        void showTurn(turn, { send, clientVersion, showError }, { ready: async () => {}, signal }).then(
          () => {
            if (!left.signal.aborted) controller.close()
          },
        )
      },
      cancel: () => left.abort('the reader has left'),
    })
  }
}

const plain = (sent: object): JsonObject => JSON.parse(JSON.stringify(sent))

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
