import { findProvider } from '../../../providers/registry.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import type { Warning } from '../../../src/messages/result.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import type { Delta } from '../../../src/model/delta.ts'
import type { Loopback, Reply } from '../../loopback.ts'

export const sse = (...events: object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

/** An answer "ok" on each wire. */
const answers = {
  chat: `${sse({ choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] })}data: [DONE]\n\n`,
  responses: sse(
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'message', id: 'm', role: 'assistant', content: [] },
    },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'ok' },
    { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
  ),
  anthropic: sse(
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ),
  google: sse({ candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] }),
  ollama: `${JSON.stringify({ message: { role: 'assistant', content: 'ok' }, done: true, done_reason: 'stop' })}\n`,
  cohere: sse(
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { text: 'ok' } } } },
    { type: 'content-end', index: 0 },
    { type: 'message-end', delta: { finish_reason: 'COMPLETE' } },
  ),
}

type Wire = keyof typeof answers

const wires: Record<string, Wire> = {
  openai: 'chat',
  'openai-responses': 'responses',
  anthropic: 'anthropic',
  google: 'google',
  ollama: 'ollama',
  cohere: 'cohere',
}

export const answerOn = (provider: string): Reply => ({
  body: answers[wires[provider] ?? 'chat'],
  headers: { 'content-type': provider === 'ollama' ? 'application/x-ndjson' : 'text/event-stream' },
})

/** An address of its own for each server: what is learnt at one must not count for a later one with the same port. */
const places = new WeakMap<Loopback, string>()
let servers = 0

const placeOf = (server: Loopback): string => {
  const place = places.get(server) ?? `${server.url}/${servers++}/v1`
  places.set(server, place)
  return place
}

/** A model that is asked at a server of the test. */
export const ask = async (model: string, server: Loopback, request: Partial<ModelRequest>) => {
  const [provider = '', ...name] = model.split(':')
  const chat = findProvider(provider).chatModel(name.join(':'), {
    baseUrl: placeOf(server),
    apiKey: 'key',
  })
  const deltas: Delta[] = []
  const error = await new Promise<string>((resolve) => {
    chat.stream(
      { messages: [userMessage('Hello')], ...request },
      {
        deltas: (batch) => deltas.push(...batch),
        end: () => resolve(''),
        fail: ({ message }) => resolve(message),
      },
    )
  })
  const warnings: Warning[] = deltas.flatMap((delta) => (delta.type === 'warning' ? [delta.warning] : []))
  return { error, warnings, deltas }
}

export const openai = (message: string, more: JsonObject = {}) => ({
  error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error', ...more },
})
export const claude = (message: string) => ({
  type: 'error',
  error: { type: 'invalid_request_error', message },
})
export const gemini = (message: string) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } })
export const fastapi = (field: string) => ({
  detail: [
    { type: 'extra_forbidden', loc: ['body', field], msg: 'Extra inputs are not permitted', input: 1 },
  ],
})
