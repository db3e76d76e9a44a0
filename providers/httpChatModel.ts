import { type ErrorData, errorDataOf } from '../src/messages/errors.ts'
import type { ChatModel, ModelProfile, ModelRequest, ModelSink } from '../src/model/chatModel.ts'
import type { Delta } from '../src/model/delta.ts'
import type { ResponseHead } from '../src/transport/exchange.ts'
import { type OpenStream, openStream } from '../src/transport/openStream.ts'
import { redact, redactError, withoutSecrets } from '../src/transport/redact.ts'
import { type Connection, type Endpoint, endpointOf } from './connection.ts'
import { DeltaBatch } from './deltaBatch.ts'
import { httpError, requestIdOf } from './httpError.ts'
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
    const again = failed && !hasShown ? recover?.(failed, error) : undefined
    if (again) send(again)
    else {
      isOver = true
      sink.fail(error)
    }
  }

  const open = (request: ModelRequest, canRecover: boolean): OpenStream => {
    const { provider } = target
    const { carrier, limits, secrets, ...endpoint } = reach()
    const httpRequest = endpoint.request(protocol.request(request, target))
    const batch = new DeltaBatch(protocol.decoder(target), (text) => withoutSecrets(text, secrets))
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
    return openStream(httpRequest, carrier, limits, secrets, {
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
        finish(httpError(answer, { provider, error: protocol.error, secrets }))
      },
    })
  }
  const send = (request: ModelRequest, canRecover = false): void => {
    try {
      stream = open(request, canRecover)
    } catch (thrown) {
      // The caller must hold the function that closes before it hears of an end.
      queueMicrotask(() => fail({ ...errorDataOf(thrown, 'ConfigurationError'), retryable: false }))
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
