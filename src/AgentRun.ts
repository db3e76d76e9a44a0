import { type Actor, createActor, type InspectionEvent, type Observer } from 'xstate'
import type { AgentMachine } from '../machines/agentMachine.ts'
import type { AgentInput, AgentOutput } from '../machines/events.ts'
import { AbortedError, describeThrown, errorFrom, OrchestrationError } from './errors.ts'
import type { ChatResult } from './result.ts'

export type Inspect = Observer<InspectionEvent> | ((event: InspectionEvent) => void)

export type RunOptions = { signal?: AbortSignal | undefined; inspect?: Inspect | undefined }

type RunHandlers = {
  chunk?: (chunk: ChatResult) => void
  complete: (result: ChatResult) => void
  fail: (error: Error) => void
}

/**
 * One run of an agent's machine for callers who want no actor: results and typed errors go to the handlers, exactly
 * one of `complete` and `fail` is called, and nothing is left behind afterwards.
 */
export class AgentRun {
  readonly #actor: Actor<AgentMachine>
  readonly #signal: AbortSignal | undefined
  readonly #handlers: RunHandlers

  constructor(machine: AgentMachine, input: AgentInput, options: RunOptions, handlers: RunHandlers) {
    this.#signal = options.signal
    this.#handlers = handlers
    this.#actor = createActor(machine, { input, ...(options.inspect && { inspect: options.inspect }) })
  }

  start(): void {
    if (this.#signal?.aborted) {
      this.#handlers.fail(abortedError(describeReason(this.#signal), nothingYet()))
      return
    }
    this.#signal?.addEventListener('abort', this.#abort, { once: true })
    const { chunk } = this.#handlers
    if (chunk) {
      this.#actor.on('chunk', (event) => {
        // A run that did not complete ends with an error, not with a last chunk as well.
        if (event.finishReason === 'unspecified' || this.#actor.getSnapshot().matches('Complete'))
          chunk(event)
      })
    }
    this.#actor.subscribe({ error: this.#crashed, complete: this.#done })
    this.#actor.start()
  }

  /** Leaves the run: closes the socket, signals the tools, tells nobody. */
  stop(): void {
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#actor.stop()
  }

  readonly #abort = () => this.#actor.send({ type: 'abort', reason: describeReason(this.#signal) })

  readonly #done = () => {
    this.#signal?.removeEventListener('abort', this.#abort)
    const { output } = this.#actor.getSnapshot()
    // A stopped actor completes without an output.
    if (!output) return
    const [result, error] = outcomeOf(output)
    if (error) this.#handlers.fail(error)
    else this.#handlers.complete(result)
  }

  readonly #crashed = (cause: unknown) => {
    this.#signal?.removeEventListener('abort', this.#abort)
    const state = JSON.stringify(this.#actor.getSnapshot().value)
    this.#handlers.fail(
      new OrchestrationError(`The agent's machine broke in ${state}: ${describeThrown(cause)}`, {
        cause,
        orchestrator: this.#actor.logic.id,
        state,
      }),
    )
  }
}

const outcomeOf = (output: AgentOutput): [ChatResult, Error?] => {
  if (output.status === 'failed') {
    const { status: _, error, ...partial } = output
    return [partial, errorFrom(error, partial)]
  }
  if (output.status === 'aborted') {
    const { status: _, reason, ...partial } = output
    return [partial, abortedError(reason, partial)]
  }
  const { status: _, ...result } = output
  return [result]
}

const abortedError = (reason: string, partial: ChatResult) =>
  new AbortedError(reason === '' ? 'The run was aborted.' : `The run was aborted: ${reason}`, { partial })

const describeReason = (signal: AbortSignal | undefined): string =>
  signal?.reason === undefined ? '' : describeThrown(signal.reason)

const nothingYet = (): ChatResult => ({
  id: '',
  output: '',
  messages: [],
  finishReason: 'aborted',
  metadata: {},
})
