import type { Client, Dispatcher } from 'undici'

/** The right to use a dispatcher for one exchange. A dispatcher of the user looks after its connections itself. */
export type Lease = {
  dispatcher: Dispatcher
  /** The exchange is complete, its connection may serve the next one. */
  giveBack?(): void
  /** Closes the connection at once. */
  discard?(): void
}

/**
 * Keep-alive connections by origin, one undici client each. undici's own pools open a second connection whenever a
 * request is aborted; here an aborted connection is simply gone.
 */
export class Connections {
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
