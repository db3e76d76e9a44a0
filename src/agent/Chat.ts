import { ConfigurationError, OrchestrationError, StatewireError } from '../messages/errors.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatResult, PendingApproval } from '../messages/result.ts'
import type { Approval } from '../tools/approval.ts'
import type { Infer, Schema } from '../tools/schema.ts'
import { onAbort } from '../transport/onAbort.ts'
import type { Agent, SendOptions } from './Agent.ts'
import { type AgentRun, neverStarted } from './AgentRun.ts'
import { checkChat } from './checkOptions.ts'

/** Options of a {@link Chat}. */
export type ChatOptions = {
  /** The conversation to continue. */
  history?: readonly ChatMessage[]
  /** What a send does while another one is running: it is refused (default), or waits for its turn. */
  whenBusy?: 'refuse' | 'queue'
}

/** What goes with one prompt of a chat, which has a history of its own. */
export type ChatSendOptions = Omit<SendOptions, 'history'>

/** Whoever reads a stream of a chat. */
type Consumer = { hasTurn: boolean; hasLeft: boolean; stream?: AsyncIterableIterator<ChatResult> }

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
  /** The agent that answers. */
  readonly agent: Agent
  readonly #whenBusy: 'refuse' | 'queue'
  #history: ChatMessage[]
  #run: AgentRun | undefined
  /** What was said to a send that has not begun yet. */
  #early: string[] = []
  #pending: PendingApproval | undefined
  /** Settles when the chat is free; undefined while it is. */
  #busy: Promise<void> | undefined

  constructor(agent: Agent, options: ChatOptions = {}) {
    checkChat(agent, options)
    const { history = [], whenBusy = 'refuse' } = options
    this.agent = agent
    this.#history = [...history]
    this.#whenBusy = whenBusy
  }

  /** The conversation so far. */
  get history(): readonly ChatMessage[] {
    return this.#history
  }

  /** Like `Agent.send`, with the history of this chat. */
  send(prompt: string | Part[], options: ChatSendOptions = {}): Promise<ChatResult> {
    return this.#take(() => this.agent.send(prompt, this.#continued(options)), options)
  }

  /** Like `Agent.sendFor`, with the history of this chat. */
  sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    options: ChatSendOptions = {},
  ): Promise<ChatResult<Infer<S>>> {
    return this.#take(() => this.agent.sendFor(prompt, schema, this.#continued(options)), options)
  }

  /** Like `Agent.sendStream`, with the history of this chat. A stream that is left early leaves nothing in it. */
  sendStream(prompt: string | Part[], options: ChatSendOptions = {}): AsyncIterableIterator<ChatResult> {
    const consumer: Consumer = { hasTurn: false, hasLeft: false }
    const chunks = this.#chunks(prompt, options, consumer)
    return {
      next: () => chunks.next(),
      return: async () => {
        // A stream that still waits for its turn cannot be woken: it looks here when it is its turn.
        consumer.hasLeft = true
        // A generator that waits for its next chunk cannot be left: the stream that it reads can.
        void consumer.stream?.return?.()
        const left = chunks.return?.()
        if (consumer.hasTurn) await left
        return { value: undefined, done: true }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  async *#chunks(
    prompt: string | Part[],
    options: ChatSendOptions,
    consumer: Consumer,
  ): AsyncIterableIterator<ChatResult> {
    const leave = await this.#enter(options)
    consumer.hasTurn = true
    if (consumer.hasLeft) {
      leave()
      return
    }
    const messages: ChatMessage[] = []
    try {
      consumer.stream = this.agent.sendStream(prompt, this.#continued(options))
      for await (const chunk of consumer.stream) {
        messages.push(...chunk.messages)
        this.#pending = chunk.pendingApproval
        yield chunk
      }
      if (!this.#pending && !consumer.hasLeft) this.#history = [...this.#history, ...messages]
    } catch (error) {
      this.#keepPartial(error)
      throw error
    } finally {
      this.#run = undefined
      leave()
    }
  }

  /** Tells the running answer something more: the model sees it at its next turn. */
  steer(text: string): void {
    if (this.#run) this.#run.send({ type: 'steer', text })
    else if (this.#busy) this.#early.push(text)
    else throw new OrchestrationError('Nothing is running that could be steered: use send.')
  }

  /** Goes on with an answer that waits for approvals. Decisions are by call id. */
  resume(
    decisions: Record<string, Approval>,
    options: Pick<SendOptions, 'signal'> = {},
  ): Promise<ChatResult> {
    const pending = this.#pending
    if (!pending) throw new ConfigurationError('No answer of this chat waits for an approval.')
    this.#pending = undefined
    return this.#take(async () => {
      try {
        return await this.agent.resume(pending, decisions, { ...options, onStart: this.#begun })
      } catch (error) {
        // Nothing was decided: the answer still waits.
        if (error instanceof ConfigurationError) this.#pending = pending
        throw error
      }
    }, options)
  }

  #continued(options: ChatSendOptions): SendOptions {
    const onStart = (run: AgentRun) => {
      this.#begun(run)
      options.onStart?.(run)
    }
    return { ...options, history: this.#history, onStart }
  }

  readonly #begun = (run: AgentRun) => {
    this.#run = run
    for (const text of this.#early.splice(0)) run.send({ type: 'steer', text })
  }

  async #take<T>(
    send: () => Promise<ChatResult<T>>,
    options: Pick<SendOptions, 'signal'>,
  ): Promise<ChatResult<T>> {
    const leave = await this.#enter(options)
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
  async #enter({ signal }: Pick<SendOptions, 'signal'>): Promise<() => void> {
    if (this.#busy && this.#whenBusy === 'refuse') {
      throw new OrchestrationError(
        'This chat is still answering: wait for the running send, abort it, or make the chat with whenBusy: "queue".',
      )
    }
    const before = this.#busy
    let free = () => {}
    const mine = new Promise<void>((resolve) => {
      free = () => {
        this.#early = []
        if (this.#busy === mine) this.#busy = undefined
        resolve()
      }
    })
    this.#busy = mine
    if (before && (await isAbortedBefore(before, signal))) {
      // It ends at once, but its place in the queue is free only when its turn would have come.
      void before.then(free)
      throw neverStarted(signal)
    }
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

/** Whether the signal aborts first. */
const isAbortedBefore = (turn: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve(true)
    const forgetSignal = signal && onAbort(signal, () => resolve(true))
    void turn.then(() => {
      forgetSignal?.()
      resolve(false)
    })
  })
