import { anthropic, anthropicProfile } from '../../../providers/anthropic/index.ts'
import type { Target } from '../../../providers/wire/protocol.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { ChatMessage, Part } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import type { Delta } from '../../../src/model/delta.ts'

export const targetFor = (model: string, provider = 'anthropic') =>
  ({ provider, model, profile: anthropicProfile(model, true) }) satisfies Target

export const target = targetFor('claude-sonnet-4-5')

/** The deltas of a stream of events; `end: false` leaves the body open after them. */
export const decode = (events: (object | string)[], { end = true } = {}): Delta[] => {
  const decoder = anthropic.decoder(target)
  const deltas = events.flatMap((event) =>
    decoder.push({ data: typeof event === 'string' ? event : JSON.stringify(event) }),
  )
  return end ? [...deltas, ...decoder.end()] : deltas
}

export const ofType = <T extends Delta['type']>(deltas: Delta[], type: T): Extract<Delta, { type: T }>[] =>
  deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type)

export const textOf = (deltas: Delta[]): string =>
  ofType(deltas, 'text')
    .map(({ text }) => text)
    .join('')

export const callsOf = (deltas: Delta[]) => ofType(deltas, 'toolCall').map(({ call }) => call)

/** The message a consumer of the deltas would store. */
export const messageOf = (deltas: Delta[]): ChatMessage => {
  const text = textOf(deltas)
  const opaque = ofType(deltas, 'opaque')[0]
  const parts: Part[] = [
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...callsOf(deltas).map((call) => ({ type: 'toolCall', ...call }) as const),
  ]
  return { role: 'model', parts, ...(opaque && { metadata: { [opaque.protocol]: opaque.data } }) }
}

export const bodyOf = (request: ModelRequest, to: ReturnType<typeof targetFor> = target): JsonObject =>
  anthropic.request({ cache: 'off', ...request }, to).body

export const start = {
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null },
}
export const open = (index: number, block: object) => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
export const grow = (index: number, type: string, fields: object) => ({
  type: 'content_block_delta',
  index,
  delta: { type, ...fields },
})
export const close = (index: number) => ({ type: 'content_block_stop', index })
export const stop = (reason: string, fields: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, ...fields },
})
export const last = { type: 'message_stop' }

export const text = (index: number, ...pieces: string[]) => [
  open(index, { type: 'text', text: '' }),
  ...pieces.map((piece) => grow(index, 'text_delta', { text: piece })),
  close(index),
]
export const toolUse = (index: number, id: string, name: string, ...pieces: string[]) => [
  open(index, { type: 'tool_use', id, name, input: {} }),
  ...pieces.map((piece) => grow(index, 'input_json_delta', { partial_json: piece })),
  close(index),
]
export const thinking = (index: number, thought: string, signature: string) => [
  open(index, { type: 'thinking', thinking: '', signature: '' }),
  ...(thought === '' ? [] : [grow(index, 'thinking_delta', { thinking: thought })]),
  grow(index, 'signature_delta', { signature }),
  close(index),
]

/** A promise about a stream: its name, its events, and all deltas that come out. */
export type Row = [string, (object | string)[], object[]]

export const response = { type: 'response', id: 'msg_1' }
export const finish = (raw: string, reason = 'stop') => ({ type: 'finish', reason, raw })
export const ended = [stop('end_turn'), last]
export const truncated = {
  type: 'error',
  error: {
    name: 'ModelError',
    message: 'The stream ended before it was complete: message_stop never came.',
    code: 'truncated',
    retryable: true,
  },
}
