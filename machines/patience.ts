import type { ErrorData } from '../src/messages/errors.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import { timeout, totalTimeout } from './agentFailures.ts'

type Limits = Pick<ResolvedConfig, 'clock' | 'firstChunkMs' | 'idleMs' | 'totalMs'>

/** Waits for an answer as long as it may take to begin, to go on and to end, and tells when one of that took too long. */
export class Patience {
  readonly #limits: Limits
  readonly #deadlineAt: number
  readonly #lose: (error: ErrorData) => void
  readonly #beganAt: number
  #heardAt: number | undefined
  #timer: unknown

  constructor(limits: Limits, deadlineAt: number | null, lose: (error: ErrorData) => void) {
    this.#limits = limits
    this.#deadlineAt = deadlineAt ?? Number.POSITIVE_INFINITY
    this.#lose = lose
    this.#beganAt = limits.clock.now()
    this.#wait(this.#beganAt)
  }

  /** Something was read. It costs no new timer: the one that runs looks at this when it is over. */
  heard(at: number): void {
    this.#heardAt = at
  }

  end(): void {
    this.#limits.clock.clearTimeout(this.#timer as never)
  }

  /** Never for longer than an answer may be silent: it may begin at any time. */
  #wait(now: number): void {
    const { clock, idleMs } = this.#limits
    const wait = Math.min(this.#dueAt(), this.#deadlineAt, now + idleMs) - now
    if (wait < Number.POSITIVE_INFINITY) this.#timer = clock.setTimeout(this.#look, Math.max(0, wait))
  }

  readonly #look = (): void => {
    const { clock, firstChunkMs, idleMs, totalMs } = this.#limits
    const now = clock.now()
    if (now >= this.#deadlineAt) this.#lose(totalTimeout(totalMs))
    else if (now < this.#dueAt()) this.#wait(now)
    else if (this.#heardAt === undefined)
      this.#lose(timeout(`No answer began within ${firstChunkMs} ms (timeouts.firstChunkMs).`))
    else this.#lose(timeout(`The answer stalled for ${idleMs} ms (timeouts.idleMs).`))
  }

  #dueAt(): number {
    const { firstChunkMs, idleMs } = this.#limits
    return this.#heardAt === undefined ? this.#beganAt + firstChunkMs : this.#heardAt + idleMs
  }
}
