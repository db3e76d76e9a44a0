import type { Dispatcher } from 'undici'
import { Connections, type Lease } from './connections.ts'
import { dispatchExchange } from './dispatchExchange.ts'
import { fetchExchange } from './fetchExchange.ts'
import { EnvironmentProxy } from './proxies.ts'
import type { HeaderReader } from './retryAfter.ts'

export type HttpRequest = { method: 'GET' | 'POST'; url: URL; headers: Record<string, string>; body?: string }

/** Who carries the request: a dispatcher of undici, another `fetch`, or else the environment's proxy or the connections kept here. */
export type Carrier = { dispatcher?: Dispatcher | undefined; fetch?: typeof fetch | undefined }

export type ResponseHead = { status: number; statusText: string; header: HeaderReader }

/** An answer with its body read, up to a limit. */
export type WholeAnswer = ResponseHead & { body: string }

export const isSuccess = ({ status }: ResponseHead): boolean => status >= 200 && status < 300

/** The events of an exchange. Exactly one of `end` and `fail` comes last, and never before `exchange` returned. */
export type ExchangeHandler = {
  head(head: ResponseHead): void
  data(bytes: Uint8Array): void
  /** All data of one network read has been given. */
  readDone(): void
  end(): void
  fail(error: unknown): void
}

/** Starts one HTTP exchange; the function returned closes its connection at once, and nothing is reported afterwards. */
export const exchange = (request: HttpRequest, carrier: Carrier, handler: ExchangeHandler): (() => void) => {
  const { dispatcher, fetch } = carrier
  if (fetch) return fetchExchange(fetch, request, handler)
  if (dispatcher) return dispatchExchange(() => ({ dispatcher }), request, handler)
  return network ? ownExchange(network, request, handler) : firstExchange(request, handler)
}

type Network = { connections: Connections; proxy: EnvironmentProxy }

let network: Network | undefined

const ownExchange = (own: Network, request: HttpRequest, handler: ExchangeHandler): (() => void) =>
  dispatchExchange(() => leaseOf(own, request.url.origin), request, handler)

const leaseOf = ({ connections, proxy }: Network, origin: string): Lease => {
  const dispatcher = proxy.dispatcher()
  return dispatcher ? { dispatcher } : connections.lease(origin)
}

/**
 * undici is loaded with the first request that needs it: importing the library stays cheap. Where there is no undici, as
 * in browsers, the runtime's own `fetch` carries the request.
 */
const firstExchange = (request: HttpRequest, handler: ExchangeHandler): (() => void) => {
  let isClosed = false
  let close = (): void => {
    isClosed = true
  }
  const withFetch = (): void => {
    if (!isClosed) close = fetchExchange(globalThis.fetch, request, handler)
  }
  import('undici').then((undici) => {
    // Bundles for browsers have an empty module in its place.
    if (!('Client' in undici)) return withFetch()
    network ??= { connections: new Connections(undici), proxy: new EnvironmentProxy(undici) }
    if (!isClosed) close = ownExchange(network, request, handler)
  }, withFetch)
  return () => close()
}
