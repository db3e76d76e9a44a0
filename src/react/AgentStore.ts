import type { AgentEmitted } from '../../machines/agent/events.ts'
import type { AnyOptions } from '../agent/options.ts'
import type { Run } from '../agent/Run.ts'
import { OrchestrationError, StatewireError } from '../messages/errors.ts'
import type { JsonObject } from '../messages/json.ts'
import type { ChatMessage, Part } from '../messages/messages.ts'
import type { ChatResult, PendingCall, SendResult, Usage } from '../messages/result.ts'

/** The status of the last run of a component: `waiting` if a person must decide on `pending`. */
export type AgentStatus = 'idle' | 'running' | 'waiting' | 'complete' | 'failed' | 'aborted'

/** The data that a component shows. */
export type AgentState<T = string> = {
  readonly status: AgentStatus
  /** The conversation: its history, and every whole message since. */
  readonly messages: readonly ChatMessage[]
  /** The text that is being written, up to the last frame; it becomes a message when it is whole. */
  readonly text: string
  /** The calls that a person must decide on, or answer. */
  readonly pending: readonly PendingCall[]
  /** The answer of the last run that is complete: text, or the validated value of the schema. */
  readonly output: T | undefined
  /** The error of the last run, if it failed or was aborted. */
  readonly error: Error | undefined
  /** The tokens of the last run that is over. */
  readonly usage: Usage | undefined
}

/** The options of the next run, as the component gave them last. */
export type StoreOptions = AnyOptions & {
  prompt?: string | Part[]
  onChunk?: ((chunk: ChatResult) => void) | undefined
}

/** The part of a run's handle that is used here. */
type StoreRun<T> = Pick<
  Run<T>,
  'on' | 'pending' | 'result' | 'abort' | 'steer' | 'approve' | 'reject' | 'answer'
>

/** Starts a run of the agent. */
export type StartRun<T> = (prompt: string | Part[], options: AnyOptions) => StoreRun<T>

/**
 * The conversation of one component with an agent, outside of React: it begins when the component is mounted, and ends
 * when it is gone. Under `StrictMode` React mounts every component, unmounts it and mounts it again: the run that was
 * started goes on.
 *
 * An answer may come in thousands of chunks. They change the state at most once per frame; a new status at once.
 */
export class AgentStore<T> {
  start: StartRun<T>
  options: StoreOptions
  #state: AgentState<T>
  #messages: ChatMessage[]
  #text = ''
  #run: StoreRun<T> | undefined
  /** The agent's policy, as the last run left it: without it, the next one would have forgotten what it has seen. */
  #policy: JsonObject | undefined
  #isMounted = false
  #isDue = false
  readonly #listeners = new Set<() => void>()

  constructor(start: StartRun<T>, options: StoreOptions) {
    this.start = start
    this.options = options
    this.#messages = [...(options.history ?? [])]
    this.#policy = options.policy
    this.#state = {
      status: 'idle',
      messages: this.#messages,
      text: '',
      pending: [],
      output: undefined,
      error: undefined,
      usage: undefined,
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  readonly getState = (): AgentState<T> => this.#state

  /** Begins with the prompt of the options, once; the function returned is called when the component is gone. */
  readonly mount = (): (() => void) => {
    this.#isMounted = true
    const { prompt } = this.options
    if (prompt !== undefined && this.#state.status === 'idle') this.send(prompt)
    return () => {
      this.#isMounted = false
      // React may mount it again at once.
      setTimeout(() => {
        if (!this.#isMounted) this.#run?.abort('the component is gone')
      })
    }
  }

  /** Sends a prompt: the conversation so far is its history. */
  readonly send = (prompt: string | Part[]): void => {
    if (this.#run)
      throw new OrchestrationError(
        'A run is under way: steer it, or abort it before you send another prompt.',
      )
    const { prompt: _, onChunk: __, history: ___, ...options } = this.options
    const history = [...this.#messages]
    const run = this.start(prompt, { ...options, history, ...(this.#policy && { policy: this.#policy }) })
    this.#run = run
    this.#text = ''
    run.on('*', (event) => this.#receive(event))
    // A listener for each of these makes the run wait for a decision, and not end.
    for (const type of ['tool.approval', 'tool.external', 'limit'] as const)
      run.on(type, () => this.#publish())
    this.#publish({ output: undefined, error: undefined, usage: undefined })
    run.result.then(
      (result) => this.#end('complete', history, result, { output: result.output }),
      (error: Error) => {
        const partial = error instanceof StatewireError ? error.partial : undefined
        this.#end(error.name === 'AbortedError' ? 'aborted' : 'failed', history, partial, { error })
      },
    )
  }

  /** Ends the run that is under way. */
  readonly abort = (reason?: string): void => this.#run?.abort(reason)

  /** The run that is under way, for commands. */
  readonly run = (): StoreRun<T> => {
    if (this.#run) return this.#run
    throw new OrchestrationError('No run is under way: send a prompt first.')
  }

  /** Shows the state after a command. */
  readonly commanded = (): void => this.#publish()

  #receive(event: AgentEmitted): void {
    if (event.type === 'chunk') {
      const { output, messages, metadata } = event
      // What was shown before a restart does not count; a newline before the text only sets messages apart.
      if (metadata.restart === true) this.#text = ''
      if (messages.length === 0) this.#text += this.#text === '' ? output.replace(/^\n/, '') : output
      this.options.onChunk?.(event)
    } else if (event.type === 'message') {
      this.#messages = [...this.#messages, event.message]
      this.#text = ''
    }
    this.#schedule()
  }

  #end(
    status: AgentStatus,
    history: readonly ChatMessage[],
    result: ChatResult<unknown> | SendResult<T> | undefined,
    change: Partial<AgentState<T>>,
  ): void {
    this.#run = undefined
    this.#text = ''
    this.#messages = [...history, ...(result?.messages ?? [])]
    this.#policy = result?.policy ?? this.#policy
    this.#publish({ ...change, status, usage: result?.usage })
  }

  #schedule(): void {
    if (this.#isDue) return
    this.#isDue = true
    nextFrame(() => {
      if (this.#isDue) this.#publish()
    })
  }

  #publish(change: Partial<AgentState<T>> = {}): void {
    this.#isDue = false
    const pending = this.#run?.pending ?? []
    const status = this.#run ? (pending.length > 0 ? 'waiting' : 'running') : this.#state.status
    this.#state = { ...this.#state, status, pending, messages: this.#messages, text: this.#text, ...change }
    for (const listener of this.#listeners) listener()
  }
}

/** A page that is not shown has no frames, and need not be drawn; outside of a page a timer does it. */
const nextFrame = (draw: () => void): void => {
  const { requestAnimationFrame: request } = Object(globalThis)
  if (typeof request === 'function') request(draw)
  else setTimeout(draw, 16)
}
