/** Looks for news again and again. A process that does nothing else may end, unless a caller waits in it. */
export class Poll {
  readonly #timer: NodeJS.Timeout
  #holds = 0

  constructor(look: () => void, ms: number) {
    this.#timer = setInterval(look, ms).unref()
  }

  /** A caller starts to wait, or no longer does. */
  readonly hold = (isHeld: boolean): void => {
    this.#holds += isHeld ? 1 : -1
    if (this.#holds > 0) this.#timer.ref()
    else this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
