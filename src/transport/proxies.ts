import type { Dispatcher, Pool } from 'undici'

type Undici = Pick<typeof import('undici'), 'EnvHttpProxyAgent' | 'Pool'>

/** The proxy in the environment is not a URL. The value is not shown: it may hold a password. */
export class InvalidProxy extends Error {
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

/** In capitals, or in lower case as curl reads them. */
const variables = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY']

/** The proxy that the environment names. `NO_PROXY` is read by undici itself, with every request. */
export class EnvironmentProxy {
  readonly #undici: Undici
  #settings = ''
  #agent: Dispatcher | undefined

  constructor(undici: Undici) {
    this.#undici = undici
  }

  /** Undefined where no proxy is set. */
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

/** Where a proxy just closes a tunnel, undici opens the next one, and so on for ever, unless the error is another one. */
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
