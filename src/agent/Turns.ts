import { OrchestrationError } from '../messages/errors.ts'
import { onAbort } from '../transport/onAbort.ts'
import { neverStarted } from './runOutcome.ts'

/** The turn of one answer in a chat. */
export type Turn = {
  /** The answer stands still: whoever resumes it takes the turn over. */
  isWaiting: boolean
  readonly isOver: boolean
  end(): void
}

/** One answer after the other: while one is given, the next is refused, or waits. */
export class Turns {
  readonly #whenBusy: 'refuse' | 'queue'
  #current: (Turn & { over: Promise<void> }) | undefined
  #last: Promise<void> | undefined

  constructor(whenBusy: 'refuse' | 'queue') {
    this.#whenBusy = whenBusy
  }

  get isBusy(): boolean {
    return this.#last !== undefined
  }

  /** Ends the turn of an answer that stands still: it is resumed in another one. */
  takeOver(): void {
    if (this.#current?.isWaiting) this.#current.end()
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

  #newTurn(): Turn & { over: Promise<void> } {
    let resolve = () => {}
    const over = new Promise<void>((done) => {
      resolve = done
    })
    let isOver = false
    this.#last = over
    return {
      isWaiting: false,
      over,
      get isOver() {
        return isOver
      },
      end: () => {
        isOver = true
        if (this.#last === over) this.#last = undefined
        resolve()
      },
    }
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
