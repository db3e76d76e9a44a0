import { onAbort } from '../transport/onAbort.ts'

/**
 * An abort whose signal is made only on request. An `AbortController` costs more than everything else around the call
 * of an instant tool, and most tools never look at their signal.
 */
export class LazySignal {
  #controller: AbortController | undefined
  #isAborted = false
  #reason: unknown
  #unfollow = () => {}
  readonly #callbacks = new Set<() => void>()

  /** A signal that is aborted with another one, and may be aborted before. */
  static following(signal: AbortSignal): LazySignal {
    const lazy = new LazySignal()
    if (signal.aborted) lazy.abort(signal.reason)
    else lazy.#unfollow = onAbort(signal, () => lazy.abort(signal.reason))
    return lazy
  }

  /** Lets go of a signal that is no longer needed. */
  release(): void {
    this.#unfollow()
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isAborted) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  get isAborted(): boolean {
    return this.#isAborted
  }

  /** Calls back when it is aborted; the function returned takes that back. */
  readonly onAbort = (callback: () => void): (() => void) => {
    this.#callbacks.add(callback)
    return () => this.#callbacks.delete(callback)
  }

  abort(reason?: unknown): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const callback of this.#callbacks) callback()
  }
}
