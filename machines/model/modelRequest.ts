import type { AnyActorRef } from 'xstate'
import { type ErrorData, errorDataOf } from '../../src/messages/errors.ts'
import { copyJson, isJsonObject } from '../../src/messages/json.ts'
import type { ChatModel, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import type { Clock } from '../../src/model/clock.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { timeout, totalTimeout } from '../agent/failures.ts'
import { hostOf, tracerOf } from '../logic/runEnvironment.ts'

// A request to a model, as the actor of an answer and the actor of a summary both make it.

/** A request, and its name for the host of the run. */
type NamedRequest = { model: ChatModel; request: ModelRequest; name: string }

/** Sends a request for an actor of a run, through the tracer and the host of the run. Returns a function that closes it. */
export const askModel = (
  { name: agent, hide }: ResolvedConfig,
  self: AnyActorRef,
  { model, request, name }: NamedRequest,
  sink: ModelSink,
): (() => void) => {
  const ask = (to: ModelSink) =>
    tracerOf(self).turn(self, { agent, model, request, hide }, (traced) => model.stream(request, traced), to)
  const { turn } = hostOf(self)
  return closing(turn ? turn(name, ask, sink) : ask(sink), (thrown) => sink.fail(modelFailure(thrown)))
}

/** A user's model may fail with an Error instead of its data. */
export const modelFailure = (error: unknown): ErrorData => {
  try {
    if (isJsonObject(error) && !(error instanceof Error) && typeof error.message === 'string') {
      return copyJson(error) as ErrorData
    }
  } catch {
    // Full of traps, or no data: described like anything else.
  }
  return errorDataOf(error, 'ModelError')
}

/**
 * A function that closes a request, from anything a user's model may return: nothing, a promise, a function that
 * throws.
 */
const closing = (returned: unknown, fail: (thrown: unknown) => void): (() => void) => {
  const close = (): void => {
    try {
      if (typeof returned === 'function') returned()
    } catch {
      // The request is over: an error while closing it does not matter.
    }
  }
  if (!isThenable(returned)) return close
  const late = Promise.resolve(returned)
  late.catch(fail)
  return () => void late.then((found) => closing(found, () => {})()).catch(() => {})
}

type Limits = Pick<ResolvedConfig, 'firstChunkMs' | 'idleMs' | 'totalMs'>

/** Watches the time of one answer: how long it may take to start, to continue and to end. It fails at most once. */
export class AnswerTimer {
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #deadlineAt: number
  readonly #fail: (error: ErrorData) => void
  readonly #askedAt: number
  #readAt: number | undefined
  #timer: unknown

  constructor(limits: Limits, clock: Clock, deadlineAt: number | null, fail: (error: ErrorData) => void) {
    this.#limits = limits
    this.#clock = clock
    this.#deadlineAt = deadlineAt ?? Number.POSITIVE_INFINITY
    this.#fail = fail
    this.#askedAt = clock.now()
    this.#wait(this.#askedAt)
  }

  /** Content was read. It costs no new timer: the one that runs looks at this when it is over. */
  read(at: number): void {
    this.#readAt = at
  }

  stop(): void {
    if (this.#timer !== undefined) this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Waits never longer than an answer may be silent: it may begin at any time. */
  #wait(now: number): void {
    const wait = Math.min(this.#dueAt(), this.#deadlineAt, now + this.#limits.idleMs) - now
    if (wait < Number.POSITIVE_INFINITY) this.#timer = this.#clock.setTimeout(this.#look, Math.max(0, wait))
  }

  readonly #look = (): void => {
    const { firstChunkMs, idleMs, totalMs } = this.#limits
    const now = this.#clock.now()
    if (now >= this.#deadlineAt) this.#fail(totalTimeout(totalMs))
    else if (now < this.#dueAt()) this.#wait(now)
    else if (this.#readAt === undefined)
      this.#fail(timeout(`No answer began within ${firstChunkMs} ms (timeouts.firstChunkMs).`))
    else this.#fail(timeout(`The answer stalled for ${idleMs} ms (timeouts.idleMs).`))
  }

  #dueAt(): number {
    const { firstChunkMs, idleMs } = this.#limits
    return this.#readAt === undefined ? this.#askedAt + firstChunkMs : this.#readAt + idleMs
  }
}
