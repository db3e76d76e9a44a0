import type { Agent } from '../../agent/Agent.ts'
import { Chat } from '../../agent/Chat.ts'
import type { AnyRun } from '../../agent/Run.ts'
import { describeThrown } from '../../messages/errors.ts'
import type { ChatMessage, Part } from '../../messages/messages.ts'
import type { ChatResult } from '../../messages/result.ts'
import { type Approvals, decisionOn } from '../Approvals.ts'

/** A piece of an answer, as it arrives. */
export type Piece = Pick<ChatResult, 'output' | 'metadata' | 'messages'>

/** Keeps a conversation and answers in it. An answer throws its error; the signal ends it. */
export type ChatBackend = {
  /** True if the next process asks an open question again. */
  readonly isKept: boolean
  answer(prompt: string | Part[], signal: AbortSignal): AsyncIterable<Piece>
  /** The answer that was running, or waiting, when its process ended. */
  unfinished(signal: AbortSignal): Promise<AsyncIterable<Piece> | undefined>
  /** Starts another conversation, and says what happened to this one. */
  clear(): Promise<string>
  /** Continues with another agent, made with `MakeAgent`. */
  change(): Promise<void>
  close(): Promise<void>
}

/** Makes the agent that answers from now on. */
export type MakeAgent = () => Agent

/** A conversation that ends with its process; its messages are kept for `--continue`. */
export class MemoryBackend implements ChatBackend {
  readonly isKept = false
  readonly #makeAgent: MakeAgent
  readonly #approvals: Approvals
  readonly #keep: (messages: readonly ChatMessage[]) => void
  #chat: Chat

  constructor(
    makeAgent: MakeAgent,
    approvals: Approvals,
    history: readonly ChatMessage[],
    keep: (messages: readonly ChatMessage[]) => void,
  ) {
    this.#makeAgent = makeAgent
    this.#approvals = approvals
    this.#keep = keep
    this.#chat = new Chat(makeAgent(), { history })
  }

  async *answer(prompt: string | Part[], signal: AbortSignal): AsyncIterable<Piece> {
    const chat = this.#chat
    yield* chat.sendStream(prompt, { signal, onStart: (run) => this.#attend(run) })
    this.#keep(chat.history)
  }

  async unfinished(): Promise<undefined> {}

  async clear(): Promise<string> {
    this.#chat = new Chat(this.#makeAgent())
    return 'A new conversation begins.'
  }

  async change(): Promise<void> {
    const { pending: _, ...stored } = this.#chat.toJSON()
    this.#chat = Chat.from(this.#makeAgent(), stored)
  }

  async close(): Promise<void> {}

  /** Asks about calls. A question is withdrawn if it is answered elsewhere, such as in the inspector. */
  #attend(run: AnyRun): void {
    const approvals = this.#approvals
    run.on('tool.call', ({ callId }) => approvals.withdraw(callId))
    run.on('tool.result', ({ callId }) => approvals.withdraw(callId))
    const isPending = (asked: { callId: string; question?: string }) =>
      run.pending.some(({ id, question }) => id === asked.callId && question === asked.question)
    run.on('tool.approval', async (asked) => {
      const { callId, call } = asked
      const approval = await Promise.resolve(approvals.decide(call)).catch((thrown: unknown) => ({
        approve: false,
        reason: describeThrown(thrown),
      }))
      if (!isPending(asked)) return
      const decision = decisionOn({ id: callId }, approval)
      if (decision.type === 'tool.reject') return run.reject(callId, decision.reason)
      const { type: _, callId: __, ...options } = decision
      run.approve(callId, options)
    })
    run.on('limit', async (reached) => {
      const { callId } = reached
      // An agent that does not ask has already continued.
      if (!isPending(reached)) return
      const approval = await approvals.mayGoOn(reached)
      if (!isPending(reached)) return
      if (decisionOn({ id: callId }, approval).type === 'tool.approve') run.approve(callId)
      else run.reject(callId)
    })
    run.on('tool.external', async (asked) => {
      const { callId, call } = asked
      const { result, isError = false } = await approvals.answer(call)
      if (isPending(asked)) run.answer(callId, result, { isError })
    })
  }
}
