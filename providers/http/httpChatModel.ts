import type { ErrorData } from '../../src/messages/errors.ts'
import type {
  ChatModel,
  ModelProfile,
  ModelRequest,
  ModelSink,
  SentRequest,
} from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import type { HeaderReader, HttpRequest, ResponseHead } from '../../src/transport/carriers.ts'
import { type OpenStream, openStream, type StreamHandler } from '../../src/transport/openStream.ts'
import { hidden, redact, redactError, withoutSecrets } from '../../src/transport/redact.ts'
import { DeltaBatch } from '../wire/decoder.ts'
import type { Protocol, Target } from '../wire/protocol.ts'
import { type Connection, type Endpoint, endpointOf } from './connection.ts'
import { secretName } from './credentials.ts'
import { httpError, requestIdHeaders, requestIdOf, unsentError } from './httpError.ts'

export type { Connection } from './connection.ts'

/** The parts of a model behind HTTP. */
export type HttpChatModelOptions<P extends ModelProfile = ModelProfile> = {
  /** Writes requests and reads answers. */
  protocol: Protocol<P>
  /** The model that is asked, and its abilities. */
  target: Target<P>
  /** The server, and the way to reach it. */
  connection: Connection
  /** Chooses another request after one that failed. */
  recover?: Recover<P>
}

/**
 * Chooses what to send after a request failed before it brought anything: another request, or the same one under a
 * profile that has learnt from the failure and stays for all later requests of the model.
 */
export type Recover<P extends ModelProfile = ModelProfile> = (
  error: ErrorData,
  request: ModelRequest,
  profile: P,
) => { request?: ModelRequest; profile?: P } | undefined

/** A server may refuse two things of one request, one after the other; then it is over. */
const mostRecoveries = 2

/** A model behind HTTP: the protocol knows what to send and how to read the answer, the transport does the rest. */
export const httpChatModel = <P extends ModelProfile>({
  protocol,
  target,
  connection,
  recover,
}: HttpChatModelOptions<P>): ChatModel => {
  let endpoint: Endpoint | undefined
  const reach = (): Endpoint => {
    endpoint ??= endpointOf(connection)
    return endpoint
  }
  let current = target
  const caller: Caller<P> = {
    protocol,
    reach,
    target: () => current,
    recover: (error, request) => {
      const again = recover?.(error, request, current.profile)
      if (again?.profile) current = { ...current, profile: again.profile }
      return again && (again.request ?? request)
    },
  }
  return {
    ...target,
    protocol: protocol.name,
    stream: (request, sink) => startCall(caller, request, sink),
    redact: (text) => redact(text, reach().secrets),
  }
}

type Caller<P extends ModelProfile> = {
  protocol: Protocol<P>
  reach: () => Endpoint
  /** The target, with the profile as it is known by now. */
  target: () => Target<P>
  recover: (error: ErrorData, request: ModelRequest) => ModelRequest | undefined
}

/** Calls the model once. The sink gets `end` or `fail` once and then nothing; after `close` it gets nothing at all. */
const startCall = <P extends ModelProfile>(
  { protocol, reach, recover, ...caller }: Caller<P>,
  request: ModelRequest,
  sink: ModelSink,
): (() => void) => {
  let stream: OpenStream | undefined
  let isOver = false
  let hasShown = false
  let recoveries = 0
  let hasRenewedKey = false

  const show = (deltas: readonly Delta[]): void => {
    hasShown ||= deltas.some(({ type }) => type !== 'progress')
    sink.deltas(deltas)
  }
  const end = (): void => {
    if (isOver) return
    isOver = true
    stream?.drain()
    sink.end()
  }
  const fail = (error: ErrorData, failed?: ModelRequest): void => {
    if (isOver) return
    stream?.close()
    const mayRecover = !hasShown && recoveries < mostRecoveries
    const again = failed && mayRecover ? recover(error, failed) : undefined
    recoveries += 1
    if (again) send(again)
    else {
      isOver = true
      sink.fail(error)
    }
  }

  const open = (httpRequest: HttpRequest, request: ModelRequest, target: Target<P>): OpenStream => {
    const { provider } = target
    const { carrier, limits, secrets, keyAdvice, ...endpoint } = reach()
    const batch = new DeltaBatch(protocol.decoder(target), (text) => withoutSecrets(text, secrets))
    const { wire } = sink
    let head: ResponseHead | undefined
    wire?.request(sentRequest(httpRequest, secrets))

    const finish = (failure: ErrorData | undefined): void => {
      if (batch.isFinished || !failure) {
        end()
        return
      }
      const requestId = failure.requestId ?? (head && requestIdOf(head.header))
      const known = { provider, ...(requestId !== undefined && { requestId }) }
      fail(redactError({ ...failure, ...known }, secrets), request)
    }
    const handler: StreamHandler = {
      head(answered) {
        head = answered
        wire?.head({ status: head.status, headers: answerHeaders(head.header, secrets) })
      },
      event(event) {
        wire?.event(event)
        batch.push(event)
      },
      readDone() {
        // Also when it is empty: the wire is alive.
        show(batch.take())
        if (batch.isFinished || batch.failure) finish(batch.failure)
      },
      end(failure) {
        // An error the provider sent says more than the way the connection broke, and that more than "truncated".
        batch.end(failure !== undefined)
        const rest = batch.take()
        if (rest.length > 0) show(rest)
        finish(batch.failure?.code === 'truncated' ? (failure ?? batch.failure) : (batch.failure ?? failure))
      },
      refused(answer) {
        wire?.head({ status: answer.status, headers: answerHeaders(answer.header, secrets) })
        wire?.event({ data: answer.body })
        if (endpoint.renewsKeyAfter(answer.status) && !hasRenewedKey) {
          hasRenewedKey = true
          send(request)
          return
        }
        finish(httpError(answer, { provider, error: protocol.error, secrets, keyAdvice }))
      },
    }
    return openStream(httpRequest, carrier, limits, secrets, handler, endpoint.framing())
  }
  const send = (request: ModelRequest): void => {
    const target = caller.target()
    let secrets: readonly string[] = []
    const start = (httpRequest: HttpRequest): void => {
      if (!isOver) stream = open(httpRequest, request, target)
    }
    const failUnsent = (thrown: unknown): void => fail(unsentError(thrown, target.provider, secrets))
    try {
      const endpoint = reach()
      secrets = endpoint.secrets
      const built = endpoint.request(protocol.request(request, target))
      if (built instanceof Promise) built.then(start).catch(failUnsent)
      else start(built)
    } catch (thrown) {
      // The caller must have the closing function before it gets the end.
      queueMicrotask(() => failUnsent(thrown))
    }
  }

  send(request)
  return () => {
    // After the end the connection is drained and goes back to the pool: that is not to be broken off.
    if (isOver) return
    isOver = true
    stream?.close()
  }
}

/** A request as a listener to the wire gets it. The secrets are copied: an endpoint forgets its old keys. */
const sentRequest = (
  { method, url, headers, body = '' }: HttpRequest,
  secrets: readonly string[],
): SentRequest => {
  const own = [...secrets]
  const hide = (text: string) => withoutSecrets(text, own)
  return {
    method,
    url: withoutCredentials(url, hide),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        secretName.test(name) ? hiddenValue(value) : hide(value),
      ]),
    ),
    body,
    hide,
    secrets: () => own,
  }
}

/** A name that says "credential" is enough: a signature is made of a key, and does not contain it. */
const hiddenValue = (value: string): string => `${/^(?:Bearer|Basic) /i.exec(value)?.[0] ?? ''}${hidden}`

const withoutCredentials = (url: URL, hide: (text: string) => string): string => {
  const query = [...url.searchParams].map(
    ([name, value]) =>
      `${encodeURIComponent(name)}=${secretName.test(name) ? hidden : encodeURIComponent(value)}`,
  )
  return hide(`${url.origin}${url.pathname}${query.length > 0 ? `?${query.join('&')}` : ''}`)
}

/** The headers of an answer that say something about the request, its limits and its retries. Never a cookie. */
const answerHeaders = (header: HeaderReader, secrets: readonly string[]): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const name of reportedHeaders) {
    const value = header(name)
    if (value !== undefined && value !== '') found[name] = redact(value, secrets).slice(0, 500)
  }
  return found
}

const amounts = ['limit', 'remaining', 'reset']

const reportedHeaders = [
  'content-type',
  ...requestIdHeaders,
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
  ...amounts.flatMap((amount) => [
    `ratelimit-${amount}`,
    `x-ratelimit-${amount}`,
    `x-ratelimit-${amount}-requests`,
    `x-ratelimit-${amount}-tokens`,
    `anthropic-ratelimit-requests-${amount}`,
    `anthropic-ratelimit-tokens-${amount}`,
    `anthropic-ratelimit-input-tokens-${amount}`,
    `anthropic-ratelimit-output-tokens-${amount}`,
  ]),
]
