import type { Client } from '@modelcontextprotocol/client'
import { describeThrown, ToolExecutionError } from '../messages/errors.ts'
import { onAbort, within } from '../transport/onAbort.ts'
import { redact } from '../transport/redact.ts'
import { type McpEndpoint, secretsOf, shownEndpoint, transportFor, type Wire, wiresOf } from './endpoint.ts'
import type { ClientSdk } from './sdk.ts'

type SessionSetup = {
  sdk: ClientSdk
  endpoint: McpEndpoint
  connectTimeoutMs: number
  newClient: (wire: Wire) => Client
  /** Called after the connection was reopened: the server may be a different one now. */
  onRenewed: () => void
}

/** The pauses between attempts to reconnect: a server that is being restarted needs some time. */
const reconnectPausesMs = [0, 500, 1000, 2000]
/** The pauses between pings that check, after an error of an open stream, if the server still has the session. */
const pingPausesMs = [0, 1000, 2000]
const pingTimeoutMs = 5000
const graceMs = 100

/**
 * The connection to a server. The next request opens a lost connection again. A failed request is repeated once, and only
 * if it cannot have reached the server.
 */
export class Session {
  readonly client: Client
  readonly #setup: SessionSetup
  readonly #wire: Wire
  readonly #end = new AbortController()
  #isLost = false
  /** Counts the connections, so that a late error of an old one does not end a new one. */
  #count = 1
  #renewal: Promise<void> | undefined
  #check: Promise<void> | undefined
  /** Requests without an answer. */
  #open = 0

  private constructor(setup: SessionSetup, client: Client, wire: Wire) {
    this.#setup = setup
    this.client = client
    this.#wire = wire
    client.onclose = () => {
      this.#isLost = true
    }
    client.onerror = (error) => this.#onStreamError(error)
  }

  static async open(setup: SessionSetup): Promise<Session> {
    let problem: unknown
    for (const wire of wiresOf(setup.endpoint)) {
      const client = setup.newClient(wire)
      try {
        await connected(client, setup, wire)
        return new Session(setup, client, wire)
      } catch (thrown) {
        await client.close().catch(() => {})
        problem ??= thrown
        // A server that does not answer, or refuses, would do the same over the older transport.
        if (isUnreachable(thrown) || [401, 403].includes(statusOf(thrown))) break
      }
    }
    throw failure(setup.endpoint, 'Cannot connect to the MCP server', problem)
  }

  /** A signal that is aborted when the session is closed. */
  get end(): AbortSignal {
    return this.#end.signal
  }

  /** Sends a request. Its errors hold no secrets, so they can be shown. */
  async request<T>(send: (client: Client) => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#mustBeOpen()
    if (this.#isLost) await this.#renew()
    signal?.throwIfAborted()
    const count = this.#count
    this.#open += 1
    try {
      return await send(this.client)
    } catch (thrown) {
      const loss = signal?.aborted || this.end.aborted ? 'none' : connectionLoss(thrown)
      if (loss === 'none') throw shown(this.#setup.endpoint, thrown)
      if (count === this.#count) this.#isLost = true
      if (loss === 'inDoubt') throw new ToolExecutionError(lostInCall)
      await this.#renew()
      signal?.throwIfAborted()
      return await send(this.client).catch((again) => {
        throw shown(this.#setup.endpoint, again)
      })
    } finally {
      this.#open -= 1
    }
  }

  async close(): Promise<void> {
    if (this.end.aborted) return
    this.#end.abort()
    await this.#renewal?.catch(() => {})
    const { transport } = this.client
    // A server that keeps sessions may forget this one.
    if (transport && 'terminateSession' in transport && typeof transport.terminateSession === 'function')
      await atMost(1000, Promise.resolve(transport.terminateSession()))
    await this.client.close().catch(() => {})
  }

  #mustBeOpen(): void {
    if (this.end.aborted) throw new ToolExecutionError('The connection to the MCP server was closed.')
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#reconnect().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #reconnect(): Promise<void> {
    let problem: unknown
    for (const ms of reconnectPausesMs) {
      await pause(ms, this.end)
      this.#mustBeOpen()
      await this.client.close().catch(() => {})
      try {
        await connected(this.client, this.#setup, this.#wire)
        this.#count += 1
        this.#isLost = false
        this.#setup.onRenewed()
        return
      } catch (thrown) {
        problem = thrown
        if (isRefusal(thrown)) break
      }
    }
    throw failure(
      this.#setup.endpoint,
      'The connection was lost. Cannot reconnect to the MCP server',
      problem,
    )
  }

  /**
   * Handles an error of an open stream. Over HTTP it is the only sign that the server has died: requests whose answers were
   * to come on that stream would wait for ever.
   */
  #onStreamError(error: Error): void {
    if (this.#wire === 'stdio' || this.end.aborted || this.#isLost || this.#renewal) return
    if (error instanceof this.#setup.sdk.SseError) {
      this.#isLost = true
      void this.#abandon(this.#count)
    } else if (this.#open > 0 && this.client.getProtocolEra() === 'legacy')
      this.#check ??= this.#verify(this.#count).finally(() => {
        this.#check = undefined
      })
  }

  /** Ends requests that wait for an answer, after those that could not be sent have failed by themselves. */
  async #abandon(count: number): Promise<void> {
    await pause(graceMs, this.end)
    if (count === this.#count && !this.#renewal) await this.client.close().catch(() => {})
  }

  async #verify(count: number): Promise<void> {
    for (const ms of pingPausesMs) {
      await pause(ms, this.end)
      if (this.end.aborted || this.#isLost || count !== this.#count || this.#open === 0) return
      try {
        await this.client.ping({ timeout: pingTimeoutMs })
        return
      } catch (thrown) {
        if (connectionLoss(thrown) === 'unsent' && !isUnreachable(thrown)) break
      }
    }
    // Ends requests that wait for an answer.
    if (count === this.#count) await this.client.close().catch(() => {})
  }
}

const lostInCall =
  'The connection to the MCP server was lost while this tool was running; whether it took effect is unknown.'

const connected = (client: Client, { sdk, endpoint, connectTimeoutMs }: SessionSetup, wire: Wire) =>
  client.connect(transportFor(sdk, endpoint, wire), { timeout: connectTimeoutMs })

/** The status of the server's answer, or NaN without an answer. Errors of the older transport call it `code`. */
const statusOf = (thrown: unknown): number => Number(Object(thrown).status ?? Object(thrown).code)

/** True if the server refused the client, which it would do again in a second. */
const isRefusal = (thrown: unknown): boolean => statusOf(thrown) >= 400 && statusOf(thrown) < 500

const longestProblem = 2000

/** An error without its cause: errors of HTTP clients hold the request. */
const shown = (endpoint: McpEndpoint, thrown: unknown, before = ''): ToolExecutionError =>
  new ToolExecutionError(
    (before + redact(describeThrown(thrown), secretsOf(endpoint))).slice(0, longestProblem),
  )

const failure = (endpoint: McpEndpoint, what: string, thrown: unknown): ToolExecutionError => {
  const cause = causeOf(thrown)
  return shown(endpoint, adviceOn(endpoint, cause) ?? cause, `${what} ${shownEndpoint(endpoint)}: `)
}

/** The usual cause why a program is not a server. */
const adviceOn = (endpoint: McpEndpoint, thrown: unknown): string | undefined => {
  if (!('command' in endpoint)) return undefined
  if (Object(thrown).code === 'ENOENT') return 'there is no such program. Is it installed, and in PATH?'
  return /connection closed/i.test(describeThrown(thrown))
    ? "it ended before it answered. Is it an MCP server? stderr: 'inherit' shows what it says."
    : undefined
}

/** The cause of an error of `fetch`, whose own message only says that it failed. */
const causeOf = (thrown: unknown): unknown => {
  const { message, cause } = Object(thrown)
  return cause && /fetch failed$/.test(String(message)) ? causeOf(cause) : thrown
}

/**
 * The state of the connection after a failed request: still there; lost before the request reached the server; or lost
 * while it is unknown if the request reached the server.
 */
type ConnectionLoss = 'none' | 'unsent' | 'inDoubt'

/** Error codes of a connection that was never opened. */
const neverConnected: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Reads an error of the SDK, or of `fetch`, without its classes: there may be several copies of them. */
const connectionLoss = (error: unknown): ConnectionLoss => {
  const { code, status, message, cause } = fieldsOf(error)
  if (code === 'NOT_CONNECTED') return 'unsent'
  if (code === 'CONNECTION_CLOSED') return 'inDoubt'
  // A server that does not have the session did not handle the request. Some send 400 where the protocol says 404.
  if (status === 404 || (status === 400 && /session/i.test(String(message)))) return 'unsent'
  if (message !== 'fetch failed') return 'none'
  return isUnreachable(cause) ? 'unsent' : 'inDoubt'
}

/** True if no server answers at this address. */
const isUnreachable = (error: unknown): boolean => {
  const { code, cause, errors } = fieldsOf(error)
  if (neverConnected.has(code)) return true
  // A host with several addresses: each of them was tried.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isUnreachable)
  return cause !== undefined && isUnreachable(cause)
}

type Fields = { code?: unknown; status?: unknown; message?: unknown; cause?: unknown; errors?: unknown }

const fieldsOf = (error: unknown): Fields => (typeof error === 'object' && error !== null ? error : {})

/** Waits for a time, or until the signal is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      forget()
      resolve()
    }
    const timer = setTimeout(end, ms)
    const forget = onAbort(signal, end)
  })

/** Waits until a promise is settled, or the time is over. */
export const atMost = async (ms: number, promise: Promise<unknown>): Promise<void> => {
  await within(promise, { ms, timeout: () => new Error('late') }).catch(() => {})
}
