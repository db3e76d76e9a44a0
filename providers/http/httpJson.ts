import { errorDataOf, errorFrom, TimeoutError } from '../../src/messages/errors.ts'
import type { JsonValue } from '../../src/messages/json.ts'
import { defaultTimeouts, type Timeouts } from '../../src/model/timeouts.ts'
import type { HttpRequest } from '../../src/transport/exchange.ts'
import { requestJson } from '../../src/transport/requestJson.ts'
import { within } from '../../src/transport/within.ts'
import type { WireError } from '../wire/protocol.ts'
import { type Connection, endpointOf, type ProviderRequest } from './connection.ts'
import { httpError, unsentError } from './httpError.ts'

export type HttpJsonOptions = {
  provider: string
  connection: Connection
  /** The protocol's reader of error bodies. */
  error(body: unknown): WireError | undefined
  signal?: AbortSignal | undefined
  timeouts?: Timeouts | undefined
}

/** One request to a provider with one JSON answer; rejects with a typed error that names the provider. */
export const httpJson = async (options: HttpJsonOptions, wanted: ProviderRequest): Promise<JsonValue> => {
  const { provider, connection, error, signal } = options
  const firstChunkMs = options.timeouts?.firstChunkMs ?? defaultTimeouts.firstChunkMs
  const idleMs = options.timeouts?.idleMs ?? defaultTimeouts.idleMs
  const { carrier, limits, secrets, keyAdvice, ...endpoint } = endpointOf(connection)

  const built = async (): Promise<HttpRequest> => {
    const timeout = () =>
      new TimeoutError(
        `The apiKey function returned no key within ${firstChunkMs} ms (timeouts.firstChunkMs).`,
      )
    try {
      return await within(Promise.resolve(endpoint.request(wanted)), { signal, ms: firstChunkMs, timeout })
    } catch (thrown) {
      throw errorFrom(unsentError(thrown, provider, secrets))
    }
  }
  const ask = async (): Promise<JsonValue> =>
    requestJson({
      request: await built(),
      carrier,
      limits,
      secrets,
      provider,
      refusal: (answer) => httpError(answer, { provider, error, secrets, keyAdvice }),
      signal,
      firstChunkMs,
      idleMs,
    })

  try {
    return await ask()
  } catch (refused) {
    if (!endpoint.renewsKeyAfter(errorDataOf(refused).status ?? 0)) throw refused
    return ask()
  }
}
