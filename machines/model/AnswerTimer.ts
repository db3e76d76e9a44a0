import type { ErrorData } from '../../src/messages/errors.ts'
import type { Clock } from '../../src/model/clock.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { timeout, totalTimeout } from '../agent/failures.ts'

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

  /** Never for longer than an answer may be silent: it may begin at any time. */
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
