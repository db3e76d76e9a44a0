import {
  AbortedError,
  type ErrorData,
  errorDataOf,
  errorFrom,
  TimeoutError,
} from '../../src/messages/errors.ts'
import { onAbort, within } from '../../src/transport/onAbort.ts'
import { type OpenStream, openStream } from '../../src/transport/openStream.ts'
import { redactError } from '../../src/transport/redact.ts'
import { streamError } from '../wire/error.ts'
import { BadWireJson, objectAt, parseWireObject } from '../wire/json.ts'
import type { WireEvent } from '../wire/protocol.ts'
import type { ProviderRequest } from './connection.ts'
import { type HttpPlace, type Prepared, withKey } from './httpJson.ts'

/** The events of an answer. Leaving the loop early closes the connection. */
type HttpEvents = AsyncGenerator<WireEvent, void>

/**
 * Sends a request whose answer is a stream of events, for requests outside of a run. The promise is kept when the first
 * event is there: until then the request may be sent again.
 */
export const httpEvents = (place: HttpPlace, wanted: ProviderRequest): Promise<HttpEvents> =>
  withKey(place, wanted, async (prepared) => {
    const { next, close } = eventsOf(prepared, place)
    try {
      return following(await next(prepared.firstChunkMs), { next, close }, prepared.idleMs)
    } catch (thrown) {
      close()
      throw thrown
    }
  })

type Incoming = {
  /** The next event; undefined at the end. */
  next(ms: number): Promise<WireEvent | undefined>
  close(): void
}

async function* following(
  first: WireEvent | undefined,
  { next, close }: Incoming,
  idleMs: number,
): HttpEvents {
  try {
    for (let event = first; event; event = await next(idleMs)) yield event
  } finally {
    close()
  }
}

const eventsOf = (
  { request, carrier, limits, secrets, provider, refusal }: Prepared,
  { signal, error }: HttpPlace,
): Incoming => {
  const waiting: WireEvent[] = []
  let isOver = false
  let failure: ErrorData | undefined
  let wake = (): void => {}
  let stream: OpenStream | undefined

  const conclude = (error?: ErrorData): void => {
    if (isOver) return
    isOver = true
    failure = error && redactError({ ...error, provider }, secrets)
    wake()
  }
  if (signal?.aborted) throw new AbortedError('The request was aborted.')
  stream = openStream(request, carrier, limits, secrets, {
    head() {},
    event(event) {
      const problem = problemIn(event, error)
      if (problem) conclude(problem)
      else if (!isOver) waiting.push(event)
    },
    readDone: () => wake(),
    end: conclude,
    refused: (answer) => conclude(refusal(answer)),
  })

  // A caller that has not asked for the next event must not keep the connection open.
  const forgetSignal =
    signal &&
    onAbort(signal, () => {
      waiting.length = 0
      conclude(errorDataOf(new AbortedError('The request was aborted.')))
      stream?.close()
    })
  const more = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
      if (isOver || waiting.length > 0) resolve()
    })
  return {
    async next(ms) {
      const timeout = () => new TimeoutError(`No piece of the answer came within ${ms} ms (timeouts).`)
      while (waiting.length === 0 && !isOver) await within(more(), { signal, ms, timeout })
      const event = waiting.shift()
      if (!event && failure) throw errorFrom(failure)
      return event
    },
    close() {
      forgetSignal?.()
      stream?.close()
    },
  }
}

/** An error event is short; an image is not looked through for one. */
const longestError = 20_000

const problemIn = ({ event, data }: WireEvent, error: HttpPlace['error']): ErrorData | undefined => {
  if (data.length > longestError || (event !== 'error' && !data.includes('"error"'))) return undefined
  const content = parseWireObject(data)
  if (!content || content instanceof BadWireJson) return undefined
  const isError = event === 'error' || content.type === 'error' || objectAt(content, 'error') !== undefined
  const problem = isError ? error(content) : undefined
  return problem && streamError(problem)
}
