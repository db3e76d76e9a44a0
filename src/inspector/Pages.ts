import type { ServerResponse } from 'node:http'
import type { Feed } from './Feed.ts'
import { hideSecrets } from './hideSecrets.ts'
import { Refusal } from './requests.ts'
import { securityHeaders } from './security.ts'

const mostPages = 30

/** Pages are told of changes at most this often. */
const flushMs = 50
/** A page that is behind is told the rest after a pause, in which the process does its own work. */
const pauseMs = 10

/** The pages that are open, each with an event stream of its own. */
export class Pages {
  readonly #open = new Map<ServerResponse, Feed>()
  readonly #secrets: readonly string[]
  #timer: NodeJS.Timeout | undefined

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
  }

  get isOpen(): boolean {
    return this.#open.size > 0
  }

  add(response: ServerResponse, feed: Feed): void {
    if (this.#open.size >= mostPages) throw new Refusal(503, 'Too many pages are open.')
    response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream' })
    response.on('close', () => this.#open.delete(response))
    response.on('drain', this.wake)
    this.#open.set(response, feed)
    this.#tell(response, feed)
  }

  /** Something has changed. Called for every chunk of a stream. */
  readonly wake = (): void => {
    this.#flushAfter(flushMs)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const response of this.#open.keys()) response.end()
    this.#open.clear()
  }

  #flushAfter(ms: number): void {
    if (this.#timer === undefined && this.#open.size > 0) this.#timer = setTimeout(this.#flush, ms)
  }

  readonly #flush = (): void => {
    this.#timer = undefined
    for (const [response, feed] of this.#open) this.#tell(response, feed)
  }

  /** A page that cannot follow is told less often, not more at once. */
  #tell(response: ServerResponse, feed: Feed): void {
    if (response.writableNeedDrain) return
    const message = feed.next()
    if (message) response.write(`data: ${safeJson(message, this.#secrets)}\n\n`)
    if (feed.isBehind) this.#flushAfter(pauseMs)
  }
}

/** JSON without secrets: the only way by which anything reaches a page. */
export const safeJson = (value: unknown, secrets: readonly string[]): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'string' ? hideSecrets(each, secrets) : each))
