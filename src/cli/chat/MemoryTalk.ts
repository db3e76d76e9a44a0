import { Chat } from '../../agent/Chat.ts'
import type { Part } from '../../messages/messages.ts'
import type { PendingCall } from '../../messages/result.ts'
import type { CallDecision } from '../../tools/approval.ts'
import type { Approvals } from '../Approvals.ts'
import type { MakeAgent, Piece, Talk } from './talk.ts'

/** A conversation that ends with its process. */
export class MemoryTalk implements Talk {
  readonly isKept = false
  readonly #makeAgent: MakeAgent
  readonly #approvals: Approvals
  #chat: Chat

  constructor(makeAgent: MakeAgent, approvals: Approvals) {
    this.#makeAgent = makeAgent
    this.#approvals = approvals
    this.#chat = new Chat(makeAgent())
  }

  /** Whoever leaves instead of deciding ends the answer: nothing waits for them here. */
  async *answer(prompt: string | Part[], signal: AbortSignal): AsyncGenerator<Piece, void> {
    yield* this.#chat.sendStream(prompt, { signal })
    while (this.#chat.pending) {
      const decisions = await this.#decide(this.#chat.pending.calls)
      yield* this.#chat.resumeStream(decisions, { signal })
    }
  }

  async unfinished(): Promise<undefined> {}

  async clear(): Promise<string> {
    this.#chat = new Chat(this.#makeAgent())
    return 'The conversation is forgotten.'
  }

  async change(): Promise<void> {
    this.#chat = new Chat(this.#makeAgent(), { history: this.#chat.history })
  }

  async close(): Promise<void> {}

  async #decide(calls: readonly PendingCall[]): Promise<Record<string, CallDecision>> {
    const decisions: Record<string, CallDecision> = {}
    for (const call of calls)
      decisions[call.id] = await (call.kind === 'answer'
        ? this.#approvals.answer(call)
        : this.#approvals.decide(call))
    return decisions
  }
}
