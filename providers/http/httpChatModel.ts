import type { ErrorData } from '../../src/messages/errors.ts'
import type { Warning } from '../../src/messages/result.ts'
import type { ChatModel, ModelProfile, ModelRequest, ModelSink } from '../../src/model/chatModel.ts'
import type { Delta, PrefixDifference } from '../../src/model/delta.ts'
import type { HttpRequest, ResponseHead } from '../../src/transport/carriers.ts'
import { type OpenStream, openStream, type StreamHandler } from '../../src/transport/openStream.ts'
import { redact, redactError, withoutSecrets } from '../../src/transport/redact.ts'
import type { ModelTable } from '../models/modelFacts.ts'
import { DeltaBatch } from '../wire/decoder.ts'
import { withPrefix } from '../wire/prefix.ts'
import type { Protocol, Target, WireRequest } from '../wire/protocol.ts'
import { settingChanges } from '../wire/settings.ts'
import { type Connection, type Endpoint, endpointOf } from './connection.ts'
import { fieldIn, httpError, pageWithPlace, requestIdOf, unsentError, withPlace } from './httpError.ts'
import {
  bodyAfter,
  headersAfter,
  type Lesson,
  lessonOf,
  lessonsFor,
  remember,
  requestAfter,
  type Sent,
} from './refusals.ts'
import { plainNames, withOwnNames } from './toolNames.ts'
import { answerHeaders, sentRequest } from './wireReport.ts'

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
  /** The tables of the provider's models: a name that it refuses is compared with theirs. */
  tables?: readonly ModelTable[] | undefined
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
  tables,
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
    tables,
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
  tables: readonly ModelTable[] | undefined
}

/** Calls the model once. The sink gets `end` or `fail` once and then nothing; after `close` it gets nothing at all. */
const startCall = <P extends ModelProfile>(
  { protocol, reach, place, target, recover, tables }: Caller<P>,
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
  let differences: PrefixDifference[] = []
  /** Adds the place that refused the last request. What else looks at the error reads the provider's own words. */
  let refusedBy: ((error: ErrorData) => ErrorData) | undefined
  /** The field that the last refusal names beside its words. */
  let refusedField: string | undefined

  /** The reports about the request come with the first read, so that they cost no event. */
  const dueReports = (): Delta[] => {
    const due = warnings.map((warning): Delta => ({ type: 'warning', warning }))
    const prefix: Delta[] = differences.length > 0 ? [{ type: 'prefix', differences }] : []
    warnings = []
    differences = []
    return [...due, ...prefix]
  }
  /** The id of an answer that has said nothing yet: a server may name it and then refuse the request. */
  let ids: Delta[] = []
  const show = (read: readonly Delta[]): void => {
    const isSilent = !hasShown && read.every(({ type }) => type === 'response' || type === 'progress')
    const deltas = isSilent ? read.filter(({ type }) => type === 'progress') : [...ids, ...read]
    ids = isSilent ? [...ids, ...read.filter(({ type }) => type === 'response')] : []
    hasShown ||= !isSilent
    if (lessons.length > 0 && deltas.some(isAnswer)) {
      remember(place, lessons)
      lessons = []
    }
    const own = withOwnNames(deltas, ownNames)
    sink.deltas(warnings.length + differences.length > 0 ? [...dueReports(), ...own] : own)
  }
  const end = (): void => {
    if (isOver) return
    isOver = true
    if (ids.length > 0) sink.deltas(ids)
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
      mayRecover && !again && lessons.length < mostRefusals
        ? lessonOf({ error, param: refusedField, model: target.model }, mayRecover, known)
        : undefined
    if (lesson) lessons = [...lessons, lesson]
    if (failed && (again || lesson)) send(again ?? failed.request)
    else {
      isOver = true
      const rest = [...dueReports(), ...ids]
      if (rest.length > 0) sink.deltas(rest)
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
    differences = [...(wire.differences ?? []), ...ofRequest.flatMap((applied) => applied.differences)]
    warnings = [
      ...changes.map(({ setting, change, said }) => ({ setting, change, said })),
      ...[...ofRequest, ...ofBody].map(({ differences: _, ...applied }) => applied),
    ].map(({ said, ...change }) => ({
      ...change,
      message: `${provider}:${model} ${said}`,
      provider,
      model,
    }))
    const isRenamed = ofRequest.some(({ setting }) => setting === 'tools')
    ownNames = new Map(isRenamed ? [...plainNames(request)].map(([own, plain]) => [plain, own]) : [])
    const headers = headersAfter(wire.headers, known)
    return { sent: { request, body }, wire: { ...wire, ...(headers && { headers }), body } }
  }

  const open = (httpRequest: HttpRequest, sent: Sent, prefix: string | undefined): OpenStream => {
    const { provider } = target
    const { carrier, limits, secrets, keyAdvice, ownPath, ...endpoint } = reach()
    const asked = { ...target, url: httpRequest.url, secrets, keyAdvice, ownPath, tables }
    const decoder = withPrefix(protocol.decoder(target), prefix)
    const batch = new DeltaBatch(decoder, (text) => withoutSecrets(text, secrets))
    const { wire } = sink
    let head: ResponseHead | undefined
    refusedBy = (error) => pageWithPlace(error, asked)
    refusedField = undefined
    ids = []
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
        refusedBy = (error) => withPlace(error, asked)
        refusedField = fieldIn(answer.body)
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
