import type { ErrorData } from '../src/messages/errors.ts'
import type { ChatModel, ModelProfile, ModelRequest, ModelSink } from '../src/model/chatModel.ts'
import type { Delta } from '../src/model/delta.ts'
import type { HttpRequest, ResponseHead } from '../src/transport/exchange.ts'
import { type OpenStream, openStream, type StreamHandler } from '../src/transport/openStream.ts'
import { redact, redactError } from '../src/transport/redact.ts'
import { type Connection, type Endpoint, endpointOf } from './connection.ts'
import { DeltaBatch } from './deltaBatch.ts'
import { httpError, requestIdOf, unsentError } from './httpError.ts'
import type { Protocol, Target } from './protocol.ts'

export type { Connection } from './connection.ts'

/** What {@link httpChatModel} puts together. */
export type HttpChatModelOptions<P extends ModelProfile = ModelProfile> = {
  protocol: Protocol<P>
  target: Target<P>
  connection: Connection
  /** Another request to send, once, where the first one failed before it brought anything. */
  recover?: (request: ModelRequest, error: ErrorData) => ModelRequest | undefined
}

/** A model behind HTTP: the protocol knows what to send and how to read the answer, the transport does the rest. */
export const httpChatModel = <P extends ModelProfile>(options: HttpChatModelOptions<P>): ChatModel => {
  const { provider, model, profile } = options.target
  let endpoint: Endpoint | undefined
  const reach = (): Endpoint => {
    endpoint ??= endpointOf(options.connection)
    return endpoint
  }
  const stream: ChatModel['stream'] = (request, sink) => startCall(options, reach, request, sink)
  return { provider, model, profile, stream, redact: (text) => redact(text, reach().secrets) }
}

/** One call of a model. The sink gets `end` or `fail` once and then nothing; after `close` it gets nothing at all. */
const startCall = <P extends ModelProfile>(
  { protocol, target, recover }: HttpChatModelOptions<P>,
  reach: () => Endpoint,
  request: ModelRequest,
  sink: ModelSink,
): (() => void) => {
  let stream: OpenStream | undefined
  let isOver = false
  let hasShown = false
  let hasRenewedKey = false

  const show = (deltas: readonly Delta[]): void => {
    if (deltas.length > 0) hasShown = true
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
    const again = failed && !hasShown ? recover?.(failed, error) : undefined
    if (again) send(again)
    else {
      isOver = true
      sink.fail(error)
    }
  }

  const open = (httpRequest: HttpRequest, request: ModelRequest, canRecover: boolean): OpenStream => {
    const { provider } = target
    const { carrier, limits, secrets, keyAdvice, ...endpoint } = reach()
    const batch = new DeltaBatch(protocol.decoder(target))
    let head: ResponseHead | undefined

    const finish = (failure: ErrorData | undefined): void => {
      if (batch.isFinished || !failure) {
        end()
        return
      }
      const requestId = failure.requestId ?? (head && requestIdOf(head.header))
      const known = { provider, ...(requestId !== undefined && { requestId }) }
      fail(redactError({ ...failure, ...known }, secrets), canRecover ? request : undefined)
    }
    const handler: StreamHandler = {
      head(answered) {
        head = answered
      },
      event(event) {
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
        if (endpoint.renewsKeyAfter(answer.status) && !hasRenewedKey) {
          hasRenewedKey = true
          send(request, canRecover)
          return
        }
        finish(httpError(answer, { provider, error: protocol.error, secrets, keyAdvice }))
      },
    }
    return openStream(httpRequest, carrier, limits, secrets, handler, endpoint.framing())
  }
  const send = (request: ModelRequest, canRecover = false): void => {
    let secrets: readonly string[] = []
    const start = (httpRequest: HttpRequest): void => {
      if (!isOver) stream = open(httpRequest, request, canRecover)
    }
    const failUnsent = (thrown: unknown): void => fail(unsentError(thrown, target.provider, secrets))
    try {
      const endpoint = reach()
      secrets = endpoint.secrets
      const built = endpoint.request(protocol.request(request, target))
      if (built instanceof Promise) built.then(start).catch(failUnsent)
      else start(built)
    } catch (thrown) {
      // The caller must hold the function that closes before it hears of an end.
      queueMicrotask(() => failUnsent(thrown))
    }
  }

  send(request, true)
  return () => {
    // After the end the connection is drained and goes back to the pool: that is not to be broken off.
    if (isOver) return
    isOver = true
    stream?.close()
  }
}
