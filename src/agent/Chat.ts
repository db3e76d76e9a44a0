import type { AnyActorLogic } from 'xstate'
import type { RequestPrefix } from '../../machines/model/requestPrefix.ts'
import { ConfigurationError, OrchestrationError, StatewireError } from '../messages/errors.ts'
import { isJsonObject, type JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatResult, PendingApproval, SendResult } from '../messages/result.ts'
import { isFatal, validateHistory } from '../messages/validateHistory.ts'
import type { CallDecision } from '../tools/approval.ts'
import type { Infer, Schema } from '../tools/schema.ts'
import type { Agent } from './Agent.ts'
import { type AgentInternals, agentInternals } from './AgentInternals.ts'
import { checkChat, checkTurn } from './checkOptions.ts'
import type {
  AnyOptions,
  Last,
  Output,
  PartialOutput,
  ResumeOptions,
  SendOptions,
  StartFrom,
  TypedOptions,
  WaitingInternals,
} from './options.ts'
import type { DeepPartial } from './partialValues.ts'
import type { AnyRun } from './Run.ts'
import { type Turn, Turns } from './Turns.ts'

/** Options of a {@link Chat}. */
export type ChatOptions = {
  /** The conversation to continue. */
  history?: readonly ChatMessage[]
  /** Behaviour of a send while another is running: it is refused, or waits for its turn. Default: `'refuse'`. */
  whenBusy?: 'refuse' | 'queue'
}

/** Options of one prompt of a chat, which keeps its own history and policy. */
export type ChatSendOptions<Deps = unknown> = Omit<SendOptions<Deps>, 'history' | 'policy'> & Context<Deps>

/** `Omit` forgets which fields are required for some `Deps`. */
type Context<Deps> = Pick<ResumeOptions<Deps>, 'context' & keyof ResumeOptions<Deps>>

/** A chat as JSON: its conversation, the answer that waits for a decision, and the hashes of its last request. */
export type StoredChat = {
  version: 1
  history: ChatMessage[]
  pending?: PendingApproval
  /** The agent's policy, as the last answer left it. */
  policy?: JsonObject
  prefix?: RequestPrefix
}

/** A reader of a chat's stream; `wait`: what the run waited for when the reader left. */
type Consumer<C> = {
  hasLeft: boolean
  stream?: AsyncIterableIterator<ChatResult<C>>
  wait?: PendingApproval | undefined
}

/** The start of an answer, and the way it gets its turn. */
type Source = { from: () => StartFrom; isResumed: boolean }

/**
 * A conversation with an agent: keeps the history, so that every send continues where the last one ended. After a
 * failure or an abort the history stays valid: the partial result is kept, and its last message has
 * `metadata.interrupted`. A prompt without any answer is dropped, and so is a stream that was left early.
 *
 * @example
 * const chat = new Chat(agent)
 * await chat.send('My name is Ada.')
 * await chat.send('What is my name?')
 */
export class Chat<Deps = unknown, Machine extends AnyActorLogic = AnyActorLogic> {
  /** The agent that answers. */
  readonly agent: Agent<Deps, Machine>
  readonly #agent: AgentInternals
  readonly #turns: Turns
  #history: ChatMessage[]
  #pending: PendingApproval | undefined
  #policy: JsonObject | undefined
  #prefix: RequestPrefix | undefined
  #run: AnyRun | undefined
  #internals: WaitingInternals | undefined
  /** Steering for a send that has not started yet. */
  #early: string[] = []

  constructor(agent: Agent<Deps, Machine>, options: ChatOptions = {}) {
    checkChat(agent, options)
    const { history = [], whenBusy = 'refuse' } = options
    this.agent = agent
    this.#agent = agentInternals(agent)
    this.#history = [...history]
    this.#turns = new Turns(whenBusy)
  }

  /**
   * A chat that was stored with `toJSON`.
   *
   * @example const chat = Chat.from(agent, JSON.parse(await readFile('chat.json', 'utf8')))
   */
  static from<Deps, Machine extends AnyActorLogic>(
    agent: Agent<Deps, Machine>,
    stored: StoredChat,
    options: Omit<ChatOptions, 'history'> = {},
  ): Chat<Deps, Machine> {
    const { history, pending, prefix, policy } = checkedChat(stored)
    const chat = new Chat(agent, { ...options, history })
    chat.#pending = pending
    chat.#prefix = prefix
    chat.#policy = policy
    return chat
  }

  /** The chat as JSON, without an answer that is still running. */
  toJSON(): StoredChat {
    const [pending, policy, prefix] = [this.#pending, this.#policy, this.#prefix]
    return copyOf({ version: 1, history: this.#history, pending, policy, prefix })
  }

  /** The conversation so far. */
  get history(): readonly ChatMessage[] {
    return this.#history
  }

  /** The answer that waits for a decision; see {@link Chat.resume}. */
  get pending(): PendingApproval | undefined {
    return this.#pending
  }

  /** Does the same as `Agent.send`, with the history of this chat. */
  async send(prompt: string | Part[], ...rest: Last<ChatSendOptions<Deps>>): Promise<SendResult> {
    return await this.#take(this.#prompt(prompt), optionsOf(rest))
  }

  /** Does the same as `Agent.sendFor`, with the history of this chat. */
  async sendFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    ...rest: Last<ChatSendOptions<Deps>>
  ): Promise<SendResult<Infer<S>>> {
    return await this.#take(this.#prompt(prompt), { ...optionsOf(rest), schema })
  }

  /** Does the same as `Agent.sendStream`, with the history of this chat. A stream that is left early adds nothing to it. */
  sendStream(
    prompt: string | Part[],
    ...rest: Last<ChatSendOptions<Deps>>
  ): AsyncIterableIterator<ChatResult> {
    return this.#stream(this.#prompt(prompt), optionsOf(rest))
  }

  /** Does the same as `Agent.sendStreamFor`, with the history of this chat. */
  sendStreamFor<S extends Schema>(
    prompt: string | Part[],
    schema: S,
    ...rest: Last<ChatSendOptions<Deps>>
  ): AsyncIterableIterator<ChatResult<DeepPartial<Infer<S>>>> {
    return this.#stream(this.#prompt(prompt), { ...optionsOf(rest), schema })
  }

  /** Resumes the answer that waits. Decisions are by call id; a typed answer needs its `schema` again. */
  async resume<S extends Schema = never>(
    decisions: Readonly<Record<string, CallDecision>>,
    ...rest: Last<ResumeOptions<Deps> & TypedOptions<S>>
  ): Promise<SendResult<Output<S>>> {
    return await this.#take(this.#waiting(decisions), optionsOf(rest))
  }

  /** Resumes the answer that waits, chunk by chunk. */
  resumeStream<S extends Schema = never>(
    decisions: Readonly<Record<string, CallDecision>>,
    ...rest: Last<ResumeOptions<Deps> & TypedOptions<S>>
  ): AsyncIterableIterator<ChatResult<PartialOutput<S>>> {
    return this.#stream(this.#waiting(decisions), optionsOf(rest))
  }

  /** Adds a message to the running answer: the model sees it at its next turn. */
  steer(text: string): void {
    if (this.#run) this.#run.steer(text)
    else if (this.#turns.isBusy) this.#early.push(text)
    else throw new OrchestrationError('This chat is not answering, so there is nothing to steer: use send.')
  }

  async #take<T>(source: Source, options: AnyOptions): Promise<SendResult<T>> {
    const turn = await this.#enter(source, options)
    try {
      const result = await this.#agent.send<T>(source.from(), this.#continued(options))
      this.#pending = result.pendingApproval
      if (!this.#pending) this.#append(result.messages)
      return result
    } catch (error) {
      this.#keepPartial(error)
      throw error
    } finally {
      this.#leave(turn)
    }
  }

  #stream<C>(source: Source, options: AnyOptions): AsyncIterableIterator<ChatResult<C>> {
    const consumer: Consumer<C> = { hasLeft: false }
    const chunks = this.#chunks(source, options, consumer)
    return {
      next: () => chunks.next(),
      return: async () => {
        if (!consumer.hasLeft) consumer.wait = this.#internals?.waitsFor()
        // A stream that still waits for its turn cannot be woken: it checks this when its turn comes.
        consumer.hasLeft = true
        // A generator cannot be ended while it waits for its next chunk, but the stream that it reads can.
        void consumer.stream?.return?.()
        const left = chunks.return?.()
        if (consumer.stream) await left
        return { value: undefined, done: true }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  async *#chunks<C>(
    source: Source,
    options: AnyOptions,
    consumer: Consumer<C>,
  ): AsyncIterableIterator<ChatResult<C>> {
    const turn = await this.#enter(source, options)
    let end: 'left' | 'failed' | 'through' = 'left'
    try {
      if (consumer.hasLeft) return
      consumer.stream = this.#agent.stream<C>(source.from, this.#continued(options))
      for await (const chunk of consumer.stream) {
        // Another caller resumed the answer: this reader is done.
        if (turn.isOver) return
        turn.isWaiting = chunk.pendingApproval !== undefined
        this.#pending = chunk.pendingApproval
        yield chunk
      }
      if (!consumer.hasLeft) end = 'through'
    } catch (error) {
      end = 'failed'
      if (!turn.isOver) this.#keepPartial(error)
      throw error
    } finally {
      if (!turn.isOver) {
        const isDecidedOn = source.isResumed || turn.isWaiting
        if (end === 'through' && !turn.isWaiting) this.#append(this.#run?.messages ?? [])
        else if (end === 'left' && consumer.stream && isDecidedOn) this.#keepDecided(consumer.wait)
        this.#leave(turn)
      }
    }
  }

  #enter({ isResumed }: Source, { signal }: AnyOptions): Promise<Turn> {
    return isResumed ? this.#turns.resume(signal) : this.#turns.enter(signal)
  }

  /** A stream that was left early adds nothing, but decisions that were made have taken effect. */
  #keepDecided(wait: PendingApproval | undefined): void {
    this.#pending = wait
    if (!wait) this.#append(this.#run?.messages ?? [])
  }

  /** A prompt, if nothing has to be decided before it. */
  #prompt(prompt: string | Part[]): Source {
    const from = () => {
      if (!this.#pending) return prompt
      throw new OrchestrationError(
        'An answer of this chat waits for a decision: decide on it with resume first.',
      )
    }
    return { from, isResumed: false }
  }

  /** The answer that waits, with decisions. */
  #waiting(decisions: Readonly<Record<string, CallDecision>>): Source {
    const from = () => {
      if (this.#pending) return { snapshot: this.#pending.snapshot, decisions }
      throw new ConfigurationError('No answer of this chat waits for a decision.')
    }
    return { from, isResumed: true }
  }

  #continued(options: AnyOptions): AnyOptions {
    const onRun = (run: AnyRun, internals: WaitingInternals) => {
      this.#internals?.release()
      this.#run = run
      this.#internals = internals
      for (const text of this.#early.splice(0)) run.steer(text)
    }
    const policy = this.#policy
    return { ...options, history: this.#history, prefix: this.#prefix, ...(policy && { policy }), onRun }
  }

  #leave(turn: Turn): void {
    this.#prefix = this.#internals?.prefix ?? this.#prefix
    // However the answer ended: what the policy has seen, it has seen.
    this.#policy = this.#internals?.policy ?? this.#policy
    this.#internals?.release()
    this.#run = undefined
    this.#internals = undefined
    this.#early = []
    turn.end()
  }

  /** Keeps the partial result of a send that failed. If there is none, an answer that waited still waits. */
  #keepPartial(error: unknown): void {
    const { messages = [], pendingApproval } = (error instanceof StatewireError && error.partial) || {}
    if (pendingApproval) this.#pending = pendingApproval
    else if (messages.length > 0) {
      this.#pending = undefined
      if (messages.at(-1)?.role === 'model') this.#append(messages)
    }
  }

  #append(messages: readonly ChatMessage[]): void {
    const history = [...this.#history, ...messages]
    // A user's orchestrator may end with anything: a history that cannot be sent is worse than none.
    if (!validateHistory(history).some(isFatal)) this.#history = history
  }
}

/** A copy, as JSON: fields that are undefined are left out. */
const copyOf = (stored: { [Key in keyof StoredChat]: unknown }): StoredChat =>
  JSON.parse(JSON.stringify(stored))

const optionsOf = (rest: readonly unknown[]): AnyOptions => {
  const options = rest[0] ?? {}
  checkTurn(options)
  return options as AnyOptions
}

const checkedChat = (stored: StoredChat): StoredChat => {
  if (!isJsonObject(stored) || stored.version !== 1 || !Array.isArray(stored.history))
    throw new ConfigurationError(
      'Chat.from takes the agent, and the value that toJSON returned (version 1): write Chat.from(agent, JSON.parse(text)).',
    )
  const [problem] = validateHistory(stored.history).filter(isFatal)
  if (problem) throw new ConfigurationError(`The stored chat is not usable: ${problem.message}`)
  const { pending } = stored
  if (pending !== undefined && !(isJsonObject(pending) && isJsonObject(pending.snapshot)))
    throw new ConfigurationError('The stored chat is not usable: what it waits for is not a pendingApproval.')
  return copyOf(stored)
}
