import { ConfigurationError } from '../../messages/errors.ts'
import { differences } from './differences.ts'
import type { TapedExchange, TapedRequest } from './tape.ts'

/** So many lines of a difference are shown, and so many are counted to find the nearest recording. */
const shownLines = 5
const countedLines = 100

/** Finds the recorded exchange for each request. Each is used once: the same request again gets the next one. */
export class TapePlayer {
  readonly #path: string
  readonly #exchanges: readonly TapedExchange[]
  readonly #unused: Set<TapedExchange>

  constructor(path: string, exchanges: readonly TapedExchange[]) {
    this.#path = path
    this.#exchanges = exchanges
    this.#unused = new Set(exchanges)
  }

  /** By what is asked and not by whose turn it is: parallel requests come in any order. */
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
