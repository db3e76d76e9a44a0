import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import {
  callable,
  checkOptions,
  checkValue,
  finiteAmount,
  oneOf,
  type Rules,
  rule,
} from '../messages/optionRules.ts'
import { refusalOf } from '../transport/offline.ts'
import { within } from '../transport/onAbort.ts'
import { play } from './tape/play.ts'
import { record } from './tape/record.ts'
import type { TapedExchange, TapedRequest } from './tape/tape.ts'
import { hasTape, readTape, writeTape } from './tape/tape.ts'
import { differences, type Outgoing, readRequest, type Scrub, tapedRequest } from './tape/tapedRequest.ts'

/**
 * Options of {@link cassette}.
 *
 * @example cassette('tapes/weather.json', { mode: process.env.RECORD ? 'record' : 'replay', speed: 1 })
 */
export type CassetteOptions = {
  /**
   * `record` asks the provider and overwrites the tape. `replay` never goes to the network. `auto` replays an existing
   * tape and records a missing one; where the environment variable `CI` is set, it only replays. Default: `'auto'`.
   */
  mode?: 'auto' | 'record' | 'replay'
  /**
   * Changes the JSON body of a request before it is kept and before it is compared: for what is private, and for what is
   * new in every run. The provider gets the body as it was.
   */
  scrub?: Scrub
  /**
   * The speed at which a tape is played: 1 as it was recorded, 2 twice as fast, 0 without pauses. The agent's own waits,
   * such as those before a retry, stay. Default: 0.
   */
  speed?: number
}

/**
 * A `fetch` that records and replays. Give it to an agent as it is: wrapped in another function, it cannot signal that
 * no key is needed.
 *
 * @example const agent = new Agent('openai:gpt-6-luna', { connection: { fetch: tape } })
 */
export type Cassette = typeof fetch & {
  /** True if it plays a tape. Then an agent needs no key. */
  readonly isReplay: boolean
  /**
   * Ends a test. After a recording it waits until the tape is on disk; after a replay it rejects if recorded answers
   * were not asked for.
   */
  done(): Promise<void>
}

const rules: Rules<CassetteOptions> = {
  mode: oneOf('auto', 'record', 'replay'),
  scrub: callable,
  speed: finiteAmount,
}

const pathRule = rule(
  'a path, such as tapes/weather.json',
  (value) => typeof value === 'string' && value !== '',
)

/**
 * Records what a provider answers into a file, and replays it from there: the same reads, without a key and without a
 * network. The file has no header of any request, and nothing that looks like a key.
 *
 * @example
 * const tape = cassette('tapes/weather.json')
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather], connection: { fetch: tape } })
 * await agent.send('Weather in Oslo?')
 * await tape.done()
 */
export const cassette = (path: string, options: CassetteOptions = {}): Cassette => {
  checkValue('The path of a cassette', path, pathRule)
  checkOptions('The options of a cassette', options, rules)
  const { mode = 'auto', scrub, speed = 0 } = options
  const isReplay = mode === 'replay' || (mode === 'auto' && (hasTape(path) || isCi()))
  if (isReplay && !hasTape(path)) throw new ConfigurationError(missing(path, mode))
  const player = isReplay ? new TapePlayer(path, readTape(path)) : undefined
  const recorder = new TapeRecorder(path)

  const carry: typeof fetch = async (input, init) => {
    const outgoing = await readRequest(input, init)
    const request = tapedRequest(outgoing, scrub)
    if (player) return play(player.take(request), speed, outgoing.init.signal ?? undefined)
    const refused = refusalOf(new URL(outgoing.url))
    if (refused) throw refused
    return recorder.fetch(outgoing, request)
  }
  const done = async (): Promise<void> => (player ? player.assertUsed() : recorder.saved())
  return Object.assign(carry, { isReplay, done })
}

const isCi = (): boolean => !['', '0', 'false'].includes(process.env.CI ?? '')

const missing = (path: string, mode: string): string => {
  const why = mode === 'auto' ? ' (CI is set: nothing is recorded here)' : ''
  return `There is no tape at ${path}${why}. Record it on your machine with a key, with mode 'record', and commit it.`
}

/** The lines of a difference that are shown, and those that are counted to find the nearest recording. */
const shownLines = 5
const countedLines = 100

/** Finds the recorded exchange for each request. Each is used once: the same request again gets the next one. */
class TapePlayer {
  readonly #path: string
  readonly #exchanges: readonly TapedExchange[]
  readonly #unused: Set<TapedExchange>

  constructor(path: string, exchanges: readonly TapedExchange[]) {
    this.#path = path
    this.#exchanges = exchanges
    this.#unused = new Set(exchanges)
  }

  /** Takes the exchange with the same request; the order does not matter, because parallel requests come in any. */
  take(request: TapedRequest): TapedExchange {
    for (const exchange of this.#unused) {
      if (!isSamePlace(exchange.request, request)) continue
      if (differences(exchange.request.body, request.body, 1).length > 0) continue
      this.#unused.delete(exchange)
      return exchange
    }
    throw new ConfigurationError(
      `${this.#path} has no answer for ${nameOf(request)}. ${this.#why(request)} ${advice}`,
    )
  }

  assertUsed(): void {
    if (this.#unused.size === 0) return
    const names = [...this.#unused].slice(0, shownLines).map(({ request }) => nameOf(request))
    throw new ConfigurationError(
      `${this.#path}: ${this.#unused.size} of ${this.#exchanges.length} recorded answers were not asked for: ${names.join(', ')}.`,
    )
  }

  #why(request: TapedRequest): string {
    const all = this.#exchanges.length
    if (this.#unused.size === 0) return `All ${all} recorded answers were already used.`
    const rest = [...this.#unused]
    const near = rest.filter((exchange) => isSamePlace(exchange.request, request))
    if (near.length === 0)
      return `It has some for ${[...new Set(rest.map((each) => nameOf(each.request)))].slice(0, shownLines).join(', ')}.`
    const ranked = near.map((exchange) => ({
      exchange,
      lines: differences(exchange.request.body, request.body, countedLines),
    }))
    const nearest = ranked.reduce((best, each) => (each.lines.length < best.lines.length ? each : best))
    const number = this.#exchanges.indexOf(nearest.exchange) + 1
    const more = nearest.lines.length - shownLines
    const lines = [...nearest.lines.slice(0, shownLines), ...(more > 0 ? [`… and ${more} more`] : [])]
    return `The nearest recording, ${number} of ${all}, differs:\n${lines.map((line) => `  ${line}\n`).join('')}`
  }
}

const advice =
  "If the request is right, record again: delete the file, or set mode to 'record'. Use scrub to remove what changes with every run, such as a date."

const isSamePlace = (one: TapedRequest, other: TapedRequest): boolean =>
  one.method === other.method && differences(one.path, other.path, 1).length === 0

const nameOf = ({ method, path }: TapedRequest): string => `${method} ${path.slice(0, 100)}`

/** The wait for answers that are still open. An agent closes one at most a second after its end. */
const patienceMs = 1500

/** Records exchanges, and writes the tape whenever one of them is over. */
class TapeRecorder {
  readonly #path: string
  /** Exchanges in the order in which they started; undefined while one is running. */
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
