import { Chat } from '../../agent/Chat.ts'
import type { Approvals } from '../Approvals.ts'
import type { MakeAgent, Piece, Talk } from './talk.ts'

/** A conversation that ends with its process. */
export class MemoryTalk implements Talk {
  readonly isKept = false
  readonly #agent: () => ReturnType<MakeAgent>
  #chat: Chat

  constructor(makeAgent: MakeAgent, approvals: Approvals) {
    this.#agent = () => makeAgent({ onApproval: (call) => approvals.decide(call) })
    this.#chat = new Chat(this.#agent())
  }

  answer(prompt: string, signal: AbortSignal): AsyncIterable<Piece> {
    return this.#chat.sendStream(prompt, { signal })
  }

  async unfinished(): Promise<undefined> {}

  async clear(): Promise<string> {
    this.#chat = new Chat(this.#agent())
    return 'The conversation is forgotten.'
  }

  async change(): Promise<void> {
    this.#chat = new Chat(this.#agent(), { history: this.#chat.history })
  }

  async close(): Promise<void> {}
}
