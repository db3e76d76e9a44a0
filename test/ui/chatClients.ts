import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import * as ai6 from 'ai6'
import type { AgentChatTransport } from '../../src/ui/uiMessages/transport.ts'

/** A part of a message, as far as these tests look at it. */
export type Part = {
  type: string
  text?: string
  state?: string
  id?: string
  data?: unknown
  toolCallId?: string
  input?: unknown
  output?: unknown
  errorText?: string
  approval?: { id: string }
}

export type Message = { id: string; role: string; parts: Part[]; metadata?: unknown }

/** The chat of each version of the AI SDK, with what they share. */
export type Client = {
  readonly messages: Message[]
  readonly status: string
  readonly error: Error | undefined
  send(text: string, messageId?: string): Promise<void>
  /** Sends what was decided, where that does not happen by itself. */
  continue(): Promise<void>
  regenerate(): Promise<void>
  stop(): Promise<void>
  resume(): Promise<void>
  answer(tool: string, callId: string, output: unknown): Promise<void>
  /** Says yes or no to a call, in the way of the version. */
  decide(tool: string, callId: string, approved: boolean, reason?: string): Promise<void>
}

type AnyTransport = AgentChatTransport<5> | AgentChatTransport<6> | AgentChatTransport<7>

/** `reconnectTo`: the address of the answer that version 7 reads on. */
export type ClientOptions = { id: string; messages?: Message[]; reconnectTo?: () => string } & (
  | { api: string; transport?: never }
  | { transport: AnyTransport; api?: never }
)

class State<M> {
  status: 'submitted' | 'streaming' | 'ready' | 'error' = 'ready'
  error: Error | undefined = undefined
  messages: M[]
  constructor(messages: M[]) {
    this.messages = messages
  }
  pushMessage = (message: M) => {
    this.messages = [...this.messages, message]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: M) => {
    this.messages = this.messages.with(index, message)
  }
  snapshot = <T>(thing: T): T => structuredClone(thing)
}

const edited = (messageId: string | undefined) => (messageId === undefined ? {} : { messageId })

class Chat5 extends ai5.AbstractChat<ai5.UIMessage> {
  constructor({ api = '', transport, id, messages = [] }: ClientOptions) {
    super({
      id,
      transport: (transport as AgentChatTransport<5> | undefined) ?? new ai5.DefaultChatTransport({ api }),
      state: new State(messages as ai5.UIMessage[]),
      sendAutomaticallyWhen: ai5.lastAssistantMessageIsCompleteWithToolCalls,
    })
  }
}

class Chat6 extends ai6.AbstractChat<ai6.UIMessage> {
  constructor({ api = '', transport, id, messages = [] }: ClientOptions) {
    super({
      id,
      transport: (transport as AgentChatTransport<6> | undefined) ?? new ai6.DefaultChatTransport({ api }),
      state: new State(messages as ai6.UIMessage[]),
      sendAutomaticallyWhen: (chat) =>
        ai6.lastAssistantMessageIsCompleteWithToolCalls(chat) ||
        ai6.lastAssistantMessageIsCompleteWithApprovalResponses(chat),
    })
  }
}

class Chat7 extends ai7.AbstractChat<ai7.UIMessage> {
  constructor({ api = '', transport, id, messages = [], reconnectTo }: ClientOptions) {
    const prepareReconnectToStreamRequest = reconnectTo && (() => ({ api: reconnectTo() }))
    super({
      id,
      transport:
        (transport as AgentChatTransport<7> | undefined) ??
        new ai7.DefaultChatTransport({
          api,
          ...(prepareReconnectToStreamRequest && { prepareReconnectToStreamRequest }),
        }),
      state: new State(messages as ai7.UIMessage[]),
      sendAutomaticallyWhen: (chat) =>
        ai7.lastAssistantMessageIsCompleteWithToolCalls(chat) ||
        ai7.lastAssistantMessageIsCompleteWithApprovalResponses(chat),
    })
  }
}

const clientOf = (chat: Chat5 | Chat6 | Chat7, decide: Client['decide']): Client => ({
  get messages() {
    return chat.messages as Message[]
  },
  get status() {
    return chat.status
  },
  get error() {
    return chat.error
  },
  send: (text, messageId) => chat.sendMessage({ text, ...edited(messageId) }),
  continue: () => chat.sendMessage(),
  regenerate: () => chat.regenerate(),
  stop: () => chat.stop(),
  resume: () => chat.resumeStream(),
  answer: async (tool, toolCallId, output) => void (await chat.addToolOutput({ tool, toolCallId, output })),
  decide,
})

export type Version = 5 | 6 | 7

export const versions: readonly Version[] = [5, 6, 7]

/** A chat of a version of the AI SDK. */
export const clientFor = (version: Version, options: ClientOptions): Client => {
  if (version === 5) {
    const chat = new Chat5(options)
    return clientOf(chat, async (tool, toolCallId, approved, reason) => {
      await chat.addToolOutput({ tool, toolCallId, output: { approved, ...(reason && { reason }) } })
    })
  }
  const chat = version === 6 ? new Chat6(options) : new Chat7(options)
  return clientOf(chat, async (_, callId, approved, reason) => {
    const messages: Message[] = chat.messages
    const asked = messages.at(-1)?.parts.find(({ toolCallId }) => toolCallId === callId)
    const id = asked?.approval?.id ?? callId
    await chat.addToolApprovalResponse({ id, approved, ...(reason && { reason }) })
  })
}

/** The texts of the last message. */
export const lastTexts = ({ messages }: Client): string[] =>
  (messages.at(-1)?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : []))

/** The part of a tool call in the last message. */
export const callIn = ({ messages }: Client, callId: string): Part | undefined =>
  messages.at(-1)?.parts.find(({ toolCallId }) => toolCallId === callId)

/** Waits until a chat has nothing more to do. */
export const settled = async (client: Client): Promise<void> => {
  for (let quiet = 0; quiet < 4; ) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    quiet = client.status === 'ready' || client.status === 'error' ? quiet + 1 : 0
  }
}
