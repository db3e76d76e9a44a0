import { Chat } from '../../agent/Chat.ts'
import type { PendingCall } from '../../messages/result.ts'
import type { Approvals } from '../Approvals.ts'
import type { MakeAgent, Piece, Talk } from './talk.ts'

/** A conversation that ends with its process. */
export class MemoryTalk implements Talk {
  readonly isKept = false
  readonly #agent: () => ReturnType<MakeAgent>
  readonly #approvals: Approvals
  #chat: Chat

  constructor(makeAgent: MakeAgent, approvals: Approvals) {
    this.#approvals = approvals
    this.#agent = () => makeAgent({ onApproval: (call) => approvals.decide(call) })
    this.#chat = new Chat(this.#agent())
  }

  async *answer(prompt: string, signal: AbortSignal): AsyncGenerator<Piece, void> {
    const chat = this.#chat
    yield* chat.sendStream(prompt, { signal })
    // Calls are decided on meanwhile: what is left is a limit.
    for (let [call] = callsOf(chat); call; [call] = callsOf(chat)) {
      const approval = await this.#approvals.decideOn(call)
      // Whoever leaves has said no: that ends the answer by itself.
      yield* chat.resumeStream({ [call.id]: approval }, signal.aborted ? {} : { signal })
    }
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

const callsOf = ({ pending }: Chat): readonly PendingCall[] => pending?.calls ?? []
