import { OrchestrationError } from '../messages/errors.ts'
import { onAbort } from '../transport/onAbort.ts'
import { neverStarted } from './runOutcome.ts'

/** The turn of one answer in a chat. */
export type Turn = {
  /** The answer is paused: the call that resumes it takes over the turn. */
  isWaiting: boolean
  readonly isOver: boolean
  end(): void
}

/** The turns of a chat: while one answer is running, the next is refused, or waits. */
export class Turns {
  readonly #whenBusy: 'refuse' | 'queue'
  #current: Place | undefined
  #last: Promise<void> | undefined

  constructor(whenBusy: 'refuse' | 'queue') {
    this.#whenBusy = whenBusy
  }

  get isBusy(): boolean {
    return this.#last !== undefined
  }

  /** Resumes a paused answer in its place, or else waits for a turn like any other. */
  async resume(signal: AbortSignal | undefined): Promise<Turn> {
    const next = this.#current?.pass()
    if (!next) return this.enter(signal)
    this.#current = next
    return next
  }

  /** Waits for its turn, or refuses. */
  async enter(signal: AbortSignal | undefined): Promise<Turn> {
    if (this.isBusy && this.#whenBusy === 'refuse') {
      throw new OrchestrationError(
        'This chat is still answering: wait for the running send, abort it, or make the chat with whenBusy: "queue".',
      )
    }
    const before = this.#last
    const turn = this.#newTurn()
    if (before && (await isAbortedBefore(before, signal))) {
      // It ends at once, but its place in the queue is free only when its turn would have come.
      void before.then(turn.end)
      throw neverStarted(signal)
    }
    this.#current = turn
    return turn
  }

  #newTurn(): Place {
    let resolve = () => {}
    const over = new Promise<void>((done) => {
      resolve = done
    })
    this.#last = over
    return placeOf(() => {
      if (this.#last === over) this.#last = undefined
      resolve()
    })
  }
}

/** A turn that may be passed on while its answer is paused. */
type Place = Turn & { pass(): Place | undefined }

const placeOf = (free: () => void): Place => {
  let isOver = false
  return {
    isWaiting: false,
    get isOver() {
      return isOver
    },
    end: () => {
      if (!isOver) free()
      isOver = true
    },
    pass() {
      if (isOver || !this.isWaiting) return undefined
      isOver = true
      return placeOf(free)
    },
  }
}

/** Resolves with true if the signal aborts first. */
const isAbortedBefore = (turn: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve(true)
    const forgetSignal = signal && onAbort(signal, () => resolve(true))
    void turn.then(() => {
      forgetSignal?.()
      resolve(false)
    })
  })
