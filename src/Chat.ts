import type { Agent, SendOptions } from './Agent.ts'
import type { AgentRun, Approval } from './AgentRun.ts'
import { ChunkStream } from './ChunkStream.ts'
import { ConfigurationError, OrchestrationError, StatewireError } from './errors.ts'
import type { ChatMessage, Part } from './messages.ts'
import type { ChatResult, PendingApproval } from './result.ts'
import type { Infer, Schema } from './schema.ts'

export type ChatOptions = {
  /** The conversation to continue. */
  history?: readonly ChatMessage[]
  /** What a send does while another one is running: it is refused (default), or waits for its turn. */
  whenBusy?: 'refuse' | 'queue'
}

export type ChatSendOptions = Omit<SendOptions, 'history'>

/**
 * A conversation with an agent: keeps the history, so that every send continues where the last one ended. A send that
 * failed or was aborted leaves the history valid: what was reached is kept, its last message marked with
 * `metadata.interrupted`; a prompt that got no answer at all is dropped, and so is a stream that was left early.
 *
 * @example
 * const chat = new Chat(agent)
 * await chat.send('My name is Ada.')
 * await chat.send('What is my name?')
 */
export class Chat {
  readonly agent: Agent
  readonly #whenBusy: 'refuse' | 'queue'
  #history: ChatMessage[]
  #run: AgentRun | undefined
  #pending: PendingApproval | undefined
  /** Settles when the chat is free; undefined while it is. */
  #busy: Promise<void> | undefined

  constructor(agent: Agent, { history = [], whenBusy = 'refuse' }: ChatOptions = {}) {
    this.agent = agent
    this.#history = [...history]
    this.#whenBusy = whenBusy
  }

  /** The conversation so far. */
  get history(): readonly ChatMessage[] {
    return this.#history
  }

  send(prompt: string | Part[], options: ChatSendOptions = {}): Promise<ChatResult> {
    return this.#take(
      () =>
        new Promise((complete, fail) => {
          this.#run = this.agent.run(this.#inputOf(prompt, options), options, { complete, fail })
          this.#run.start()
        }),
    )
  }

  sendStream(prompt: string | Part[], options: ChatSendOptions = {}): AsyncIterableIterator<ChatResult> {
    return new ChunkStream((stream) => {
      let leave = () => {}
      const chunk = (each: ChatResult) => stream.push(each)
      this.#take(
        () =>
          new Promise<ChatResult>((complete, fail) => {
            const run = this.agent.run(this.#inputOf(prompt, options), options, { chunk, complete, fail })
            leave = () => {
              run.stop()
              fail(new OrchestrationError('The stream was left.'))
            }
            this.#run = run
            run.start()
          }),
      ).then(
        () => stream.finish(),
        (error) => stream.finish(error),
      )
      return () => leave()
    })
  }

  sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    options: ChatSendOptions = {},
  ): Promise<ChatResult<Infer<S>>> {
    return this.#take(() => this.agent.sendFor(prompt, schema, { ...options, history: this.#history }))
  }

  /** Tells the running answer something more: the model sees it at its next turn. */
  steer(text: string): void {
    if (!this.#run) throw new OrchestrationError('Nothing is running that could be steered: use send.')
    this.#run.send({ type: 'steer', text })
  }

  /** Goes on with an answer that waits for approvals. Decisions are by call id. */
  resume(
    decisions: Record<string, Approval>,
    options: Pick<SendOptions, 'signal'> = {},
  ): Promise<ChatResult> {
    const pending = this.#pending
    if (!pending) throw new ConfigurationError('No answer of this chat waits for an approval.')
    this.#pending = undefined
    return this.#take(() => this.agent.resume(pending, decisions, options))
  }

  #inputOf(prompt: string | Part[], { attachments }: ChatSendOptions) {
    return { prompt, history: this.#history, ...(attachments && { attachments }) }
  }

  async #take<T>(send: () => Promise<ChatResult<T>>): Promise<ChatResult<T>> {
    const leave = await this.#enter()
    try {
      const result = await send()
      this.#pending = result.pendingApproval
      if (!result.pendingApproval) this.#history = [...this.#history, ...result.messages]
      return result
    } catch (error) {
      this.#keepPartial(error)
      throw error
    } finally {
      this.#run = undefined
      leave()
    }
  }

  /** Waits until the chat is free, or refuses; gives the function that frees it again. */
  async #enter(): Promise<() => void> {
    if (this.#busy && this.#whenBusy === 'refuse') {
      throw new OrchestrationError(
        'This chat is still answering: wait for the running send, abort it, or make the chat with whenBusy: "queue".',
      )
    }
    const before = this.#busy
    let free = () => {}
    const mine = new Promise<void>((resolve) => {
      free = () => {
        if (this.#busy === mine) this.#busy = undefined
        resolve()
      }
    })
    this.#busy = mine
    await before
    if (this.#pending) {
      free()
      throw new OrchestrationError(
        'An answer of this chat waits for an approval: decide on it with resume first.',
      )
    }
    return free
  }

  #keepPartial(error: unknown): void {
    const messages = error instanceof StatewireError ? (error.partial?.messages ?? []) : []
    if (messages.at(-1)?.role === 'model') this.#history = [...this.#history, ...messages]
  }
}
