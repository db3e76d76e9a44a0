import type { ErrorData } from '../src/messages/errors.ts'
import type { JsonValue } from '../src/messages/json.ts'
import type { WholeAnswer } from '../src/transport/exchange.ts'
import { requestJson } from '../src/transport/requestJson.ts'
import { type Connection, endpointOf, type ProviderRequest } from './connection.ts'
import { httpError } from './httpError.ts'
import type { WireError } from './protocol.ts'

export type HttpJsonOptions = {
  provider: string
  connection: Connection
  /** The protocol's reader of error bodies. */
  error(body: unknown): WireError | undefined
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
}

/** As long as a chat waits for its first byte: a server that never answers must not hold a caller for ever. */
const longestWaitMs = 600_000

/** One request to a provider with one JSON answer; rejects with a typed error that names the provider. */
export const httpJson = async (options: HttpJsonOptions, wanted: ProviderRequest): Promise<JsonValue> => {
  const { provider, connection, error, signal, timeoutMs = longestWaitMs } = options
  const { request, carrier, limits, secrets } = endpointOf(connection)
  const refusal = (answer: WholeAnswer): ErrorData => httpError(answer, { provider, error, secrets })
  const exchange = { request: request(wanted), carrier, limits, secrets, provider, refusal }
  return requestJson({ ...exchange, signal, timeoutMs })
}
