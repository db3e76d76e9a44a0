import type { Client } from '@modelcontextprotocol/client'
import { describeThrown, ToolExecutionError } from '../messages/errors.ts'
import { redact } from '../transport/redact.ts'
import { type McpEndpoint, secretsOf, shownEndpoint, transportFor, type Wire, wiresOf } from './endpoint.ts'
import type { ClientSdk } from './loadSdk.ts'
import { isUnreachable, lossOf } from './lossOf.ts'
import { atMost, pause } from './pause.ts'

type SessionSetup = {
  sdk: ClientSdk
  endpoint: McpEndpoint
  connectTimeoutMs: number
  newClient: (wire: Wire) => Client
  /** Called after each renewal: the server may be another one now. */
  onRenewed: () => void
}

/** A server that is being restarted gets this much time to come back, try by try. */
const tries = [0, 500, 1000, 2000]
/** After an error of an open stream, the server is asked whether it still knows the session. */
const checks = [0, 1000, 2000]
const pingTimeoutMs = 5000
const graceMs = 100

/**
 * The connection to one server. Where it is lost, the next request opens it again. A request that has failed is repeated
 * once, and only where it cannot have reached the server.
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
    client.onerror = (error) => this.#doubt(error)
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
        // No server answers, or it refuses us: that is the same over the older transport.
        if (isUnreachable(thrown) || [401, 403].includes(statusOf(thrown))) break
      }
    }
    throw failure(setup.endpoint, 'cannot be connected to', problem)
  }

  /** Aborted when it is closed. */
  get end(): AbortSignal {
    return this.#end.signal
  }

  /** Sends a request. What it rejects with is fit to be shown. */
  async request<T>(send: (client: Client) => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#mustBeOpen()
    if (this.#isLost) await this.#renew()
    signal?.throwIfAborted()
    const count = this.#count
    this.#open += 1
    try {
      return await send(this.client)
    } catch (thrown) {
      const loss = signal?.aborted || this.end.aborted ? 'none' : lossOf(thrown)
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
    for (const ms of tries) {
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
    throw failure(this.#setup.endpoint, 'was lost, and cannot be connected to again', problem)
  }

  /**
   * Over HTTP, requests whose server has died would wait for ever: their answers were to come on a stream that is gone,
   * and an error of the stream is the only sign of it.
   */
  #doubt(error: Error): void {
    if (this.#wire === 'stdio' || this.end.aborted || this.#isLost || this.#renewal) return
    if (error instanceof this.#setup.sdk.SseError) {
      this.#isLost = true
      void this.#abandon(this.#count)
    } else if (this.#open > 0 && this.client.getProtocolEra() === 'legacy')
      this.#check ??= this.#verify(this.#count).finally(() => {
        this.#check = undefined
      })
  }

  /** Ends what waits for an answer, once that which could not even be sent has said so. */
  async #abandon(count: number): Promise<void> {
    await pause(graceMs, this.end)
    if (count === this.#count && !this.#renewal) await this.client.close().catch(() => {})
  }

  async #verify(count: number): Promise<void> {
    for (const ms of checks) {
      await pause(ms, this.end)
      if (this.end.aborted || this.#isLost || count !== this.#count || this.#open === 0) return
      try {
        await this.client.ping({ timeout: pingTimeoutMs })
        return
      } catch (thrown) {
        if (lossOf(thrown) === 'unsent' && !isUnreachable(thrown)) break
      }
    }
    // Ends what waits for an answer.
    if (count === this.#count) await this.client.close().catch(() => {})
  }
}

const lostInCall =
  'The connection to the MCP server was lost while this tool was running; whether it took effect is unknown.'

const connected = (client: Client, { sdk, endpoint, connectTimeoutMs }: SessionSetup, wire: Wire) =>
  client.connect(transportFor(sdk, endpoint, wire), { timeout: connectTimeoutMs })

/** The status of the server's answer; NaN where there was none. An error of the older transport calls it `code`. */
const statusOf = (thrown: unknown): number => Number(Object(thrown).status ?? Object(thrown).code)

/** Whether the server has said that it will not have us: it will not change its mind in a second. */
const isRefusal = (thrown: unknown): boolean => statusOf(thrown) >= 400 && statusOf(thrown) < 500

const longestProblem = 2000

/** Without the cause: errors of HTTP clients hold what was sent. */
const shown = (endpoint: McpEndpoint, thrown: unknown, before = ''): ToolExecutionError =>
  new ToolExecutionError(
    (before + redact(describeThrown(thrown), secretsOf(endpoint))).slice(0, longestProblem),
  )

const failure = (endpoint: McpEndpoint, what: string, thrown: unknown): ToolExecutionError =>
  shown(endpoint, causeOf(thrown), `The MCP server ${shownEndpoint(endpoint)} ${what}: `)

/** What `fetch` says itself is only that it failed. */
const causeOf = (thrown: unknown): unknown => {
  const { message, cause } = Object(thrown)
  return cause && /fetch failed$/.test(String(message)) ? causeOf(cause) : thrown
}
