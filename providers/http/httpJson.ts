import {
  AbortedError,
  type ErrorData,
  errorDataOf,
  errorFrom,
  TimeoutError,
} from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { defaultRetryPolicy, type RetryPolicy, retryDelayMs } from '../../src/model/retryPolicy.ts'
import { defaultTimeouts, type Timeouts } from '../../src/model/timeouts.ts'
import type { HttpRequest, WholeAnswer } from '../../src/transport/carriers.ts'
import type { Carrier } from '../../src/transport/exchange.ts'
import type { Limits } from '../../src/transport/limits.ts'
import { longestTimerMs, onAbort, within } from '../../src/transport/onAbort.ts'
import { requestJson } from '../../src/transport/requestJson.ts'
import type { ModelInfo, RequestOptions } from '../provider.ts'
import { arrayAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'
import { type Connection, endpointOf, type ProviderRequest } from './connection.ts'
import { httpError, unsentError, withPlace } from './httpError.ts'

/** The place that a request outside of a run goes to, and how long it may take. */
export type HttpPlace = {
  provider: string
  /** Left out where no model is asked. */
  model?: string
  connection: Connection
  /** The protocol's reader of error bodies. */
  error(body: unknown): WireError | undefined
  signal?: AbortSignal | undefined
  timeouts?: Timeouts | undefined
}

/** A request that is ready to be sent, and what its answer is read with. */
export type Prepared = {
  request: HttpRequest
  carrier: Carrier
  limits: Limits
  secrets: readonly string[]
  provider: string
  /** Reads an answer with an error status. */
  refusal(answer: WholeAnswer): ErrorData
  firstChunkMs: number
  idleMs: number
}

/** Sends a request with its key, and once more with another key where the first one is refused. */
export const withKey = async <T>(
  { provider, model, connection, error, signal, timeouts }: HttpPlace,
  wanted: ProviderRequest,
  send: (prepared: Prepared) => Promise<T>,
): Promise<T> => {
  const firstChunkMs = timeouts?.firstChunkMs ?? defaultTimeouts.firstChunkMs
  const idleMs = timeouts?.idleMs ?? defaultTimeouts.idleMs
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
  const ask = async (): Promise<T> => {
    const request = await built()
    const refused = { provider, ...(model !== undefined && { model }), url: request.url, secrets, keyAdvice }
    return send({
      request,
      carrier,
      limits,
      secrets,
      provider,
      refusal: (answer) => withPlace(httpError(answer, { provider, error, secrets }), refused),
      firstChunkMs,
      idleMs,
    })
  }

  try {
    return await ask()
  } catch (refused) {
    if (!endpoint.renewsKeyAfter(errorDataOf(refused).status ?? 0)) throw refused
    return ask()
  }
}

/** Sends a request that has one JSON answer; rejects with a typed error that names the provider. */
export const httpJson = (place: HttpPlace, wanted: ProviderRequest): Promise<JsonValue> =>
  withKey(place, wanted, (prepared) => requestJson({ ...prepared, signal: place.signal }))

/** Repeats a request that fails in a way that may be temporary: for requests outside a run of the chart. */
export const retrying = async <T>(
  request: () => Promise<T>,
  signal: AbortSignal | undefined,
  retry: Partial<RetryPolicy> = {},
): Promise<T> => {
  const policy = { ...defaultRetryPolicy, ...retry }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request()
    } catch (error) {
      const { retryable = error instanceof TimeoutError, retryAfterMs } = errorDataOf(error)
      if (!retryable || attempt > policy.maxRetries) throw error
      const hint = retryAfterMs === undefined ? {} : { retryAfterMs }
      await sleep(retryDelayMs(policy, attempt, hint, Math.random), signal)
    }
  }
}

/** Work that is stopped when its signal is aborted or `timeouts.totalMs` is over, however many requests it takes. */
export const inTime = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeouts }: RequestOptions,
): Promise<T> => {
  const stop = new AbortController()
  const ms = timeouts?.totalMs
  const timeout = () => new TimeoutError(`The request took longer than ${ms} ms (timeouts.totalMs).`)
  try {
    return await within(work(stop.signal), { signal, ms, timeout })
  } finally {
    stop.abort()
  }
}

/** Items that end when their signal is aborted or `timeouts.totalMs` is over, also while the caller is at work on one of them. */
export async function* itemsInTime<T>(
  items: (signal: AbortSignal) => AsyncIterable<T>,
  { signal, timeouts }: RequestOptions,
): AsyncGenerator<T, void> {
  const stop = new AbortController()
  const ms = timeouts?.totalMs
  let isLate = false
  const end = () => {
    isLate = true
    stop.abort()
  }
  const timer = ms === undefined ? undefined : setTimeout(end, Math.min(ms, longestTimerMs))
  const forgetSignal = signal && onAbort(signal, () => stop.abort())
  if (signal?.aborted) stop.abort()
  try {
    yield* items(stop.signal)
  } catch (thrown) {
    throw isLate ? new TimeoutError(`The request took longer than ${ms} ms (timeouts.totalMs).`) : thrown
  } finally {
    clearTimeout(timer)
    forgetSignal?.()
    stop.abort()
  }
}

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      forgetSignal?.()
      reject(new AbortedError('The request was aborted.'))
    }
    const timer = setTimeout(() => {
      forgetSignal?.()
      resolve()
    }, ms)
    const forgetSignal = signal && onAbort(signal, stop)
    if (signal?.aborted) stop()
  })

/** Reads a list of models: `{ data: [{ id }] }`, `{ models: [{ name }] }`, `{ modelSummaries: [{ modelId }] }` or a bare array. */
export const readModels = (body: JsonValue): ModelInfo[] => {
  const list = Array.isArray(body)
    ? body
    : isJsonObject(body)
      ? (arrayAt(body, 'data') ?? arrayAt(body, 'models') ?? arrayAt(body, 'modelSummaries') ?? [])
      : []
  return list.filter(isJsonObject).flatMap((details) => {
    const id = idOf(details)
    return id === undefined ? [] : [{ id, details }]
  })
}

/** Google writes `models/gemini-…` where everywhere else the name alone is used. */
const idOf = (model: JsonObject): string | undefined =>
  stringAt(model, 'id') ?? stringAt(model, 'modelId') ?? stringAt(model, 'name')?.replace(/^models\//, '')
