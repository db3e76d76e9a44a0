import type { ErrorData } from '../../src/messages/errors.ts'
import type { Warning } from '../../src/messages/result.ts'
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
import { withPrefix } from '../wire/prefix.ts'
import type { Protocol, Target, WireRequest } from '../wire/protocol.ts'
import { settingChanges } from '../wire/settings.ts'
import { type Connection, type Endpoint, endpointOf } from './connection.ts'
import { secretName } from './credentials.ts'
import { httpError, requestIdHeaders, requestIdOf, unsentError, withPlace } from './httpError.ts'
import {
  bodyAfter,
  type Lesson,
  lessonOf,
  lessonsFor,
  remember,
  requestAfter,
  type Sent,
} from './refusals.ts'
import { plainNames, withOwnNames } from './toolNames.ts'

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
  recover?: Recover
}

/** Chooses another request to send after one that failed before it brought anything. */
export type Recover = (error: ErrorData, request: ModelRequest) => { request: ModelRequest } | undefined

/** A request may be replaced twice; then it is over. */
const mostRecoveries = 2

/** The settings that a server may refuse in one call, one after the other; each costs a request. */
const mostRefusals = 6

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
  const caller: Caller<P> = {
    protocol,
    reach,
    place: `${protocol.name} ${connection.baseUrl} ${target.model}`,
    target,
    recover,
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
  /** The key of what is known by now about the model on this server. */
  place: string
  target: Target<P>
  recover: Recover | undefined
}

/** Calls the model once. The sink gets `end` or `fail` once and then nothing; after `close` it gets nothing at all. */
const startCall = <P extends ModelProfile>(
  { protocol, reach, place, target, recover }: Caller<P>,
  request: ModelRequest,
  sink: ModelSink,
): (() => void) => {
  let stream: OpenStream | undefined
  let isOver = false
  let hasShown = false
  let recoveries = 0
  let hasRenewedKey = false
  /** The refusals of this call. They count for later ones once the server has taken a request without them. */
  let lessons: Lesson[] = []
  /** The names of tools that were changed, and their own. */
  let ownNames: ReadonlyMap<string, string> = new Map()
  let warnings: Warning[] = []
  /** Adds the place that refused the last request. What else looks at the error reads the provider's own words. */
  let refusedBy: ((error: ErrorData) => ErrorData) | undefined

  /** The warnings come with the first read, so that they cost no event. */
  const dueWarnings = (): Delta[] => {
    const due = warnings.map((warning): Delta => ({ type: 'warning', warning }))
    warnings = []
    return due
  }
  const show = (deltas: readonly Delta[]): void => {
    hasShown ||= deltas.some(({ type }) => type !== 'progress')
    if (lessons.length > 0 && deltas.some(isAnswer)) {
      remember(place, lessons)
      lessons = []
    }
    const own = withOwnNames(deltas, ownNames)
    sink.deltas(warnings.length > 0 ? [...dueWarnings(), ...own] : own)
  }
  const end = (): void => {
    if (isOver) return
    isOver = true
    stream?.drain()
    sink.end()
  }
  const fail = (error: ErrorData, failed?: Sent): void => {
    if (isOver) return
    stream?.close()
    const mayRecover = failed && !hasShown ? failed : undefined
    const again =
      mayRecover && recoveries < mostRecoveries ? recover?.(error, mayRecover.request)?.request : undefined
    if (again) recoveries += 1
    const known = [...lessonsFor(place), ...lessons]
    const lesson =
      mayRecover && !again && lessons.length < mostRefusals ? lessonOf(error, mayRecover, known) : undefined
    if (lesson) lessons = [...lessons, lesson]
    if (failed && (again || lesson)) send(again ?? failed.request)
    else {
      isOver = true
      if (warnings.length > 0) sink.deltas(dueWarnings())
      sink.fail(refusedBy?.(error) ?? error)
    }
  }

  /** The request on the wire, after what the server has refused so far. */
  const written = (request: ModelRequest): { sent: Sent; wire: WireRequest } => {
    const known = [...lessonsFor(place), ...lessons]
    const [changed, ofRequest] = requestAfter(request, known)
    const wire = protocol.request(changed, target)
    const [body, ofBody] = bodyAfter(wire.body, known)
    const { provider, model, profile } = target
    const changes = protocol.knownFields ? settingChanges(changed, wire.body, profile) : []
    warnings = [...changes, ...ofRequest, ...ofBody].map(({ said, ...change }) => ({
      ...change,
      message: `${provider}:${model} ${said}`,
      provider,
      model,
    }))
    const isRenamed = ofRequest.some(({ setting }) => setting === 'tools')
    ownNames = new Map(isRenamed ? [...plainNames(request)].map(([own, plain]) => [plain, own]) : [])
    return { sent: { request, body }, wire: { ...wire, body } }
  }

  const open = (httpRequest: HttpRequest, sent: Sent, prefix: string | undefined): OpenStream => {
    const { provider } = target
    const { carrier, limits, secrets, keyAdvice, ...endpoint } = reach()
    const decoder = withPrefix(protocol.decoder(target), prefix)
    const batch = new DeltaBatch(decoder, (text) => withoutSecrets(text, secrets))
    const { wire } = sink
    let head: ResponseHead | undefined
    refusedBy = undefined
    wire?.request(sentRequest(httpRequest, secrets))

    const finish = (failure: ErrorData | undefined): void => {
      if (batch.isFinished || !failure) {
        end()
        return
      }
      const requestId = failure.requestId ?? (head && requestIdOf(head.header))
      const known = { provider, ...(requestId !== undefined && { requestId }) }
      fail(redactError({ ...failure, ...known }, secrets), sent)
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
          send(sent.request)
          return
        }
        refusedBy = (error) =>
          withPlace(error, { provider, model: target.model, url: httpRequest.url, secrets, keyAdvice })
        finish(httpError(answer, { provider, error: protocol.error, secrets }))
      },
    }
    return openStream(httpRequest, carrier, limits, secrets, handler, endpoint.framing())
  }
  const send = (request: ModelRequest): void => {
    let secrets: readonly string[] = []
    let sent: Sent = { request, body: {} }
    let prefix: string | undefined
    const start = (httpRequest: HttpRequest): void => {
      if (!isOver) stream = open(httpRequest, sent, prefix)
    }
    const failUnsent = (thrown: unknown): void => fail(unsentError(thrown, target.provider, secrets))
    try {
      const endpoint = reach()
      secrets = endpoint.secrets
      const { wire, ...rest } = written(request)
      sent = rest.sent
      prefix = wire.prefix
      const built = endpoint.request(wire)
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

/** True for a piece of a proper answer: the server has taken the request. */
const isAnswer = ({ type }: Delta): boolean => type !== 'error' && type !== 'progress'

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
