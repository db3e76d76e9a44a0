import { describeThrown, type ErrorData } from '../../src/messages/errors.ts'
import type { Delta } from '../../src/model/delta.ts'
import type { Decoder, WireEvent } from './protocol.ts'

/** Runs a decoder and keeps the deltas of one network read together, until the stream finished or failed. */
export class DeltaBatch {
  readonly #decoder: Decoder
  readonly #hide: (text: string) => string
  #deltas: Delta[] = []
  /** The `finish` delta is in the batch, or was. */
  isFinished = false
  /** The content of the `error` delta; it is not part of the batch. */
  failure: ErrorData | undefined

  /** `hide` takes the secrets out of what a server names itself: it may give back what it was sent anywhere. */
  constructor(decoder: Decoder, hide: (text: string) => string = (text) => text) {
    this.#decoder = decoder
    this.#hide = hide
  }

  push(event: WireEvent): void {
    if (this.isFinished || this.failure) return
    try {
      this.#add(this.#decoder.push(event))
    } catch (thrown) {
      this.failure = undecodable(thrown)
    }
  }

  end(isBroken: boolean): void {
    if (this.isFinished || this.failure) return
    try {
      this.#add(this.#decoder.end(isBroken))
    } catch (thrown) {
      this.failure = undecodable(thrown)
    }
  }

  /** The deltas since the last call. */
  take(): readonly Delta[] {
    if (this.#decoder.readDone && !this.isFinished && !this.failure) this.#add(this.#decoder.readDone())
    const deltas = this.#deltas
    this.#deltas = []
    return deltas
  }

  #add(deltas: readonly Delta[]): void {
    for (const delta of deltas) {
      if (delta.type === 'error') this.failure = failureOf(delta)
      else this.#deltas.push(this.#safe(delta))
      if (delta.type === 'finish') this.isFinished = true
    }
  }

  #safe(delta: Delta): Delta {
    if (delta.type === 'finish' && delta.raw !== undefined) return { ...delta, raw: this.#hide(delta.raw) }
    return delta.type === 'response' ? { ...delta, id: this.#hide(delta.id) } : delta
  }
}

const failureOf = ({ error, raw }: Extract<Delta, { type: 'error' }>): ErrorData =>
  raw === undefined ? error : { ...error, rawFinishReason: raw }

const undecodable = (thrown: unknown): ErrorData => ({
  name: 'ModelError',
  message: `An event of the provider could not be read: ${describeThrown(thrown)}`,
  code: 'undecodable_event',
  retryable: false,
})
