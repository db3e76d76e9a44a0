import type { Client, Dispatcher, Pool } from 'undici'
import {
  dispatchExchange,
  type ExchangeHandler,
  fetchExchange,
  type HttpRequest,
  type Lease,
} from './carriers.ts'
import { isMock, mockFetch, refusalOf } from './offline.ts'

/**
 * The carrier of a request: a dispatcher of undici, another `fetch`, or else a double of the global `fetch` in a test, the
 * global dispatcher of undici if a program has set one, the environment's proxy, or the connections kept here.
 */
export type Carrier = { dispatcher?: Dispatcher | undefined; fetch?: typeof fetch | undefined }

/** Starts one HTTP exchange; the function returned closes its connection at once, and nothing is reported afterwards. */
export const exchange = (request: HttpRequest, carrier: Carrier, handler: ExchangeHandler): (() => void) => {
  const dispatcher = carrier.dispatcher ?? globalMock()
  // Any other `fetch` of the caller answers for itself. A double of the global one may pass requests on.
  const isNetwork = carrier.fetch ? carrier.fetch === globalThis.fetch : !isMock(dispatcher)
  const refused = isNetwork ? refusalOf(request.url) : undefined
  if (refused) return failing(refused, handler)
  const fetch = carrier.fetch ?? (dispatcher ? undefined : mockFetch())
  if (fetch) return fetchExchange(fetch, request, handler)
  if (dispatcher) return dispatchExchange(() => ({ dispatcher }), request, handler)
  return network ? ownExchange(network, request, handler) : firstExchange(request, handler)
}

type Network = { connections: Connections; proxy: EnvironmentProxy }

let network: Network | undefined

const ownExchange = (own: Network, request: HttpRequest, handler: ExchangeHandler): (() => void) =>
  dispatchExchange(() => leaseOf(own, request.url.origin), request, handler)

const leaseOf = ({ connections, proxy }: Network, origin: string): Lease => {
  const given = globalDispatcher()
  // The proxy here reads the same variables, and survives a proxy that closes its tunnels.
  const isProxy = given?.constructor.name === 'EnvHttpProxyAgent'
  const dispatcher = (isProxy ? undefined : given) ?? proxy.dispatcher() ?? given
  return dispatcher ? { dispatcher } : connections.lease(origin)
}

/**
 * The dispatcher that the program has set with undici's `setGlobalDispatcher`. A plain `Agent` does not count: undici sets
 * one itself, and its pools open a second connection whenever a request is aborted.
 */
const globalDispatcher = (): Dispatcher | undefined => {
  // The name that undici and the `fetch` of Node share, whichever copy of undici has set it.
  const found: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'))
  return isDispatcher(found) && !isPlainAgent(found) ? found : undefined
}

const isDispatcher = (found: unknown): found is Dispatcher =>
  typeof found === 'object' && found !== null && 'dispatch' in found && typeof found.dispatch === 'function'

/** An agent with interceptors has the class of a plain one, but another `dispatch`. */
const isPlainAgent = (dispatcher: Dispatcher): boolean =>
  dispatcher.constructor.name === 'Agent' && dispatcher.dispatch === dispatcher.constructor.prototype.dispatch

/** The global dispatcher if it is a mock, which must answer from the first request on. */
const globalMock = (): Dispatcher | undefined => {
  const found = globalDispatcher()
  return isMock(found) ? found : undefined
}

/** Fails after the caller knows how to close. */
const failing = (error: Error, handler: ExchangeHandler): (() => void) => {
  let isClosed = false
  queueMicrotask(() => {
    if (!isClosed) handler.fail(error)
  })
  return () => {
    isClosed = true
  }
}

/**
 * undici is loaded with the first request that needs it: importing the library stays cheap. Where there is no undici, as
 * in browsers, the runtime's own `fetch` carries the request, and so it does on Bun, whose undici cannot close a client.
 */
const firstExchange = (request: HttpRequest, handler: ExchangeHandler): (() => void) => {
  let isClosed = false
  let close = (): void => {
    isClosed = true
  }
  const withFetch = (): void => {
    if (!isClosed) close = fetchExchange(globalThis.fetch, request, handler)
  }
  if (typeof process !== 'undefined' && process.versions?.bun !== undefined) {
    withFetch()
    return () => close()
  }
  import('undici').then((undici) => {
    // Bundles for browsers have an empty module in its place.
    if (!('Client' in undici)) return withFetch()
    network ??= { connections: new Connections(undici), proxy: new EnvironmentProxy(undici) }
    if (!isClosed) close = ownExchange(network, request, handler)
  }, withFetch)
  return () => close()
}

/**
 * Keep-alive connections by origin, one undici client each. undici's own pools open a second connection whenever a
 * request is aborted; here an aborted connection is simply gone.
 */
class Connections {
  readonly #open: (origin: string) => Client
  readonly #idle = new Map<string, Client[]>()
  /** Sockets of clients that are still connecting. */
  readonly #connecting = new WeakMap<Client, unknown>()

  constructor({ Client, buildConnector }: typeof import('undici')) {
    // Shared, so that TLS sessions are resumed whichever client they were made with.
    const connector = buildConnector({ timeout: 10_000 })
    this.#open = (origin) => {
      const client: Client = new Client(origin, {
        connect: (options, callback) => {
          const socket: unknown = connector(options, (...made) => {
            this.#connecting.delete(client)
            callback(...made)
          })
          this.#connecting.set(client, socket)
        },
        // Agents pause between requests while tools run: a connection kept a little longer saves a handshake.
        keepAliveTimeout: 8_000,
      })
      return client
    }
  }

  lease(origin: string): Lease {
    const client = this.#idle.get(origin)?.pop() ?? this.#connect(origin)
    return {
      dispatcher: client,
      giveBack: () => {
        const idle = this.#idle.get(origin)
        if (idle) idle.push(client)
        else this.#idle.set(origin, [client])
      },
      discard: () => this.#discard(client),
    }
  }

  #discard(client: Client): void {
    const socket = this.#connecting.get(client)
    client.destroy(null, () => {})
    // undici would first let it connect, which takes its time where a server is slow to shake hands.
    if (isDestroyable(socket)) socket.destroy(new Error('closed'))
  }

  #connect(origin: string): Client {
    const client = this.#open(origin)
    return client.on('disconnect', () => this.#forget(origin, client))
  }

  #forget(origin: string, client: Client): void {
    const others = this.#idle.get(origin)?.filter((other) => other !== client) ?? []
    if (others.length > 0) this.#idle.set(origin, others)
    else this.#idle.delete(origin)
  }
}

const isDestroyable = (socket: unknown): socket is { destroy(error: Error): void } =>
  typeof socket === 'object' && socket !== null && 'destroy' in socket && typeof socket.destroy === 'function'

type Undici = Pick<typeof import('undici'), 'EnvHttpProxyAgent' | 'Pool'>

/** The proxy in the environment is not a URL. The value is not shown: it may hold a password. */
class InvalidProxy extends Error {
  readonly code = 'invalid_proxy'
  constructor() {
    super('HTTP_PROXY or HTTPS_PROXY is not the URL of a proxy')
  }
}

class ClosedTunnel extends Error {
  readonly code = 'proxy_closed'
  constructor() {
    super('the proxy closed the connection instead of opening a tunnel')
  }
}

/** The proxy variables, in capitals, or in lower case as curl reads them. */
const variables = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY']

/** The proxy that the environment names. `NO_PROXY` is read by undici itself, with every request. */
class EnvironmentProxy {
  readonly #undici: Undici
  #settings = ''
  #agent: Dispatcher | undefined

  constructor(undici: Undici) {
    this.#undici = undici
  }

  /** The proxy's dispatcher; undefined where no proxy is set. */
  dispatcher(): Dispatcher | undefined {
    const settings = variables
      .map((name) => process.env[name] ?? '')
      .join(' ')
      .trim()
    if (settings !== this.#settings) this.#renew(settings)
    return this.#agent
  }

  #renew(settings: string): void {
    this.#agent?.close().catch(() => {})
    this.#agent = undefined
    this.#settings = ''
    if (settings === '') return
    try {
      const { EnvHttpProxyAgent, Pool } = this.#undici
      this.#agent = new EnvHttpProxyAgent({
        clientFactory: (origin, options) => tunnels(new Pool(origin, options)),
      })
    } catch {
      throw new InvalidProxy()
    }
    this.#settings = settings
  }
}

/** Changes the error of a closed tunnel: after its own error, undici would open the next tunnel, and so on for ever. */
const tunnels = (pool: Pool): Dispatcher => {
  const connect = pool.connect.bind(pool)
  return Object.assign(pool, {
    connect: (options: Dispatcher.ConnectOptions) =>
      connect(options).catch((error: unknown) => {
        throw isClosedSocket(error) ? new ClosedTunnel() : error
      }),
  })
}

const isClosedSocket = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'UND_ERR_SOCKET'
