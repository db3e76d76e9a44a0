import { ConfigurationError, describeThrown } from '../../messages/errors.ts'
import { within } from '../../transport/onAbort.ts'
import { record } from './record.ts'
import type { TapedExchange, TapedRequest } from './tape.ts'
import type { Outgoing } from './tapedRequest.ts'
import { writeTape } from './tapeFile.ts'

/** An agent closes an answer at most a second after its end; more than this means that it is not read. */
const patienceMs = 1500

/** Records exchanges, and writes the tape whenever one of them is over. */
export class TapeRecorder {
  readonly #path: string
  /** In the order in which they started; undefined while it is running. */
  readonly #exchanges: (TapedExchange | undefined)[] = []
  readonly #open = new Map<number, { ended: Promise<void>; end: () => void }>()
  #failure: ConfigurationError | undefined

  constructor(path: string) {
    this.#path = path
  }

  async fetch(outgoing: Outgoing, request: TapedRequest): Promise<Response> {
    if (this.#failure) throw this.#failure
    const number = this.#exchanges.push(undefined) - 1
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    this.#open.set(number, { ended, end })
    return record(outgoing, request, (exchange) => this.#keep(number, exchange))
  }

  /** Waits until everything is on disk. */
  async saved(): Promise<void> {
    await within(Promise.all([...this.#open.values()].map(({ ended }) => ended)), {
      ms: patienceMs,
      timeout: () =>
        new ConfigurationError(
          `${this.#path}: ${this.#open.size} answers are still being read. Wait for them, or abort them, before done().`,
        ),
    })
    if (this.#failure) throw this.#failure
  }

  #keep(number: number, exchange: () => TapedExchange): ConfigurationError | undefined {
    try {
      this.#exchanges[number] = exchange()
      writeTape(
        this.#path,
        this.#exchanges.filter((each) => each !== undefined),
      )
    } catch (thrown) {
      this.#failure =
        thrown instanceof ConfigurationError
          ? thrown
          : new ConfigurationError(`${this.#path} cannot be recorded: ${describeThrown(thrown)}`)
    }
    this.#open.get(number)?.end()
    this.#open.delete(number)
    return this.#failure
  }
}
