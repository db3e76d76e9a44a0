import type { Agent, SendOptions } from './Agent.ts'
import { OrchestrationError, StatewireError } from './errors.ts'
import type { ChatMessage, Part } from './messages.ts'
import type { ChatResult } from './result.ts'
import type { Infer, Schema } from './schema.ts'

export type ChatSendOptions = Omit<SendOptions, 'history'>

/**
 * A conversation with an agent: keeps the history, so that every send continues where the last one ended. A send that
 * failed or was aborted leaves the history valid: what was reached is kept, its last message marked with
 * `metadata.interrupted`; a prompt that got no answer at all is dropped.
 *
 * @example
 * const chat = new Chat(agent)
 * await chat.send('My name is Ada.')
 * await chat.send('What is my name?')
 */
export class Chat {
  readonly agent: Agent
  #history: ChatMessage[]
  #isBusy = false

  constructor(agent: Agent, history: readonly ChatMessage[] = []) {
    this.agent = agent
    this.#history = [...history]
  }

  /** The conversation so far. */
  get history(): readonly ChatMessage[] {
    return this.#history
  }

  send(prompt: string | Part[], options: ChatSendOptions = {}): Promise<ChatResult> {
    return this.#take(() => this.agent.send(prompt, { ...options, history: this.#history }))
  }

  sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    options: ChatSendOptions = {},
  ): Promise<ChatResult<Infer<S>>> {
    return this.#take(() => this.agent.sendFor(prompt, schema, { ...options, history: this.#history }))
  }

  async *sendStream(
    prompt: string | Part[],
    options: ChatSendOptions = {},
  ): AsyncIterableIterator<ChatResult> {
    this.#begin()
    const messages: ChatMessage[] = []
    try {
      for await (const chunk of this.agent.sendStream(prompt, { ...options, history: this.#history })) {
        messages.push(...chunk.messages)
        yield chunk
      }
      this.#history = [...this.#history, ...messages]
    } catch (error) {
      this.#keepPartial(error)
      throw error
    } finally {
      this.#isBusy = false
    }
  }

  async #take<T>(send: () => Promise<ChatResult<T>>): Promise<ChatResult<T>> {
    this.#begin()
    try {
      const result = await send()
      this.#history = [...this.#history, ...result.messages]
      return result
    } catch (error) {
      this.#keepPartial(error)
      throw error
    } finally {
      this.#isBusy = false
    }
  }

  #begin(): void {
    if (this.#isBusy) {
      throw new OrchestrationError(
        'This chat is still answering: wait for the running send, abort it, or use another Chat.',
      )
    }
    this.#isBusy = true
  }

  #keepPartial(error: unknown): void {
    const messages = error instanceof StatewireError ? (error.partial?.messages ?? []) : []
    if (messages.at(-1)?.role === 'model') this.#history = [...this.#history, ...messages]
  }
}
