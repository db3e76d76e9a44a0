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

  constructor({ Client, buildConnector }: typeof import('undici')) {
    // Shared, so that TLS sessions are resumed whichever client they were made with.
    const connect = buildConnector({ timeout: 10_000 })
    // Agents pause between requests while tools run: a connection kept a little longer saves a handshake.
    this.#open = (origin) => new Client(origin, { connect, keepAliveTimeout: 8_000 })
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
      discard: () => client.destroy(null, () => {}),
    }
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
