import {
  type Connection,
  type HttpChatModelOptions,
  httpChatModel,
} from '../../providers/http/httpChatModel.ts'
import { truncated } from '../../providers/wire/decoder.ts'
import type { Decoder, Protocol } from '../../providers/wire/protocol.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import { userMessage } from '../../src/messages/messages.ts'
import type { ChatModel, ModelProfile, ModelRequest } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import { pause } from './rawServer.ts'

const profile: ModelProfile = {
  tools: false,
  parallelTools: false,
  nativeSchema: false,
  schemaWithTools: false,
  thinking: false,
  attachments: { images: false, pdf: false, audio: false, links: false },
}

/** Each event is a text; `[DONE]` is the hard end, `[SOFT]` a soft one, `[CALL]` a tool call, `{"error"}` an error. */
export const echo: Protocol = {
  name: 'echo',
  request: (request) => ({ path: '/chat', body: { stream: true, messages: request.messages.length } }),
  decoder: () => echoDecoder(),
  error: (body) => {
    const error = isJsonObject(body) ? body.error : undefined
    if (typeof error === 'string') return { message: error }
    if (!isJsonObject(error)) return undefined
    const { message, code, request_id: requestId, wait } = error
    return {
      message: String(message),
      ...(typeof code === 'string' && { code }),
      ...(typeof requestId === 'string' && { requestId }),
      ...(typeof wait === 'number' && { retryAfterMs: wait }),
    }
  },
}

const echoDecoder = (): Decoder => {
  const calls: Delta[] = []
  let isSoftlyFinished = false
  const finish = (): Delta[] => [...calls, { type: 'finish', reason: 'stop' }]
  return {
    push({ event, data }) {
      if (data === '') return []
      if (data === '[DONE]') return finish()
      if (data === '[THROW]') throw new TypeError('decoder bug')
      if (data === '[SOFT]') isSoftlyFinished = true
      else if (data === '[CALL]')
        calls.push({ type: 'toolCall', call: { id: '1', name: 'f', arguments: {} } })
      else if (data.startsWith('{"error"')) return [...calls, { type: 'error', error: wireError(data) }]
      else return [{ type: 'text', text: event ? `${event}=${data}` : data }]
      return []
    },
    end: () => (isSoftlyFinished ? finish() : [...calls, { type: 'error', error: truncated('[DONE]') }]),
  }
}

const wireError = (data: string): ErrorData => ({
  name: 'ModelError',
  message: echo.error(JSON.parse(data))?.message ?? '',
  retryable: false,
})

export const echoModel = (
  connection: Partial<Connection> & { baseUrl: string },
  options: Partial<HttpChatModelOptions> = {},
): ChatModel =>
  httpChatModel({
    protocol: echo,
    target: { provider: 'acme', model: 'echo-1', profile },
    connection: { keyHeader: (key) => ({ authorization: `Bearer ${key}` }), ...connection },
    ...options,
  })

export type Received = {
  batches: (readonly Delta[])[]
  deltas: Delta[]
  text: string
  /** `end` or `fail`, each time it was called. */
  outcomes: string[]
  error: ErrorData | undefined
}

export const hello: ModelRequest = { messages: [userMessage('hi')] }

export type Listening = {
  received: Received
  over: Promise<Received>
  close(): void
  firstBatch: Promise<void>
}

/** Starts a stream and writes down everything that the sink gets. */
export const listen = (model: ChatModel, request: ModelRequest = hello): Listening => {
  const log: Received = { batches: [], deltas: [], text: '', outcomes: [], error: undefined }
  let settle = (_: Received): void => {}
  let started = (): void => {}
  const over = new Promise<Received>((resolve) => {
    settle = resolve
  })
  const firstBatch = new Promise<void>((resolve) => {
    started = resolve
  })
  const close = model.stream(request, {
    deltas(batch) {
      log.batches.push(batch)
      log.deltas.push(...batch)
      for (const delta of batch) if (delta.type === 'text') log.text += delta.text
      started()
    },
    end() {
      log.outcomes.push('end')
      settle(log)
    },
    fail(error) {
      log.outcomes.push('fail')
      log.error = error
      settle(log)
    },
  })
  return { received: log, over, close, firstBatch }
}

/** Runs a stream to its end, and a little longer: nothing may come after it. */
export const received = async (model: ChatModel, request: ModelRequest = hello): Promise<Received> => {
  const log = await listen(model, request).over
  await pause(5)
  return log
}
