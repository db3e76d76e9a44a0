import type { JsonObject } from '../../src/messages/json.ts'
import {
  type CallOnWire,
  halves,
  namedSse,
  objects,
  parsed,
  present,
  type Turn,
  text,
  type Wire,
} from './wire.ts'

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }

/** The events that open a response. */
export const created = (id = 'resp_1'): JsonObject[] => [
  { type: 'response.created', response: { id, object: 'response', status: 'in_progress', output: [] } },
]

/** The event that ends a response, with its items once more. */
export const completed = (output: JsonObject[] = [], more: JsonObject = {}, id = 'resp_1'): JsonObject => ({
  type: 'response.completed',
  response: { id, object: 'response', status: 'completed', output, usage, ...more },
})

export const incomplete = (reason: string, output: JsonObject[] = []): JsonObject => ({
  type: 'response.incomplete',
  response: {
    id: 'resp_1',
    object: 'response',
    status: 'incomplete',
    incomplete_details: { reason },
    output,
    usage,
  },
})

export const messageItem = (words: string, id = 'msg_1'): JsonObject => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: words, annotations: [] }],
})

export const callItem = ({ id, name, args }: CallOnWire, itemId: string): JsonObject =>
  present({ type: 'function_call', id: itemId, call_id: id, name, arguments: args, status: 'completed' })

/** A message, sent in full: announced, in pieces, done. */
export const messageEvents = (words: string, output_index = 0): JsonObject[] => {
  const place = { item_id: 'msg_1', output_index, content_index: 0 }
  return [
    { type: 'response.output_item.added', output_index, item: { ...messageItem(words), content: [] } },
    ...halves(words).map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_text.done', ...place, text: words },
    { type: 'response.output_item.done', output_index, item: messageItem(words) },
  ]
}

/** A call, sent in full. */
export const callEvents = (call: CallOnWire, output_index: number): JsonObject[] => {
  const itemId = `fc_${output_index}`
  const item = callItem(call, itemId)
  const place = { item_id: itemId, output_index }
  const pieces = typeof call.args === 'string' ? halves(call.args) : []
  return [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...item, arguments: '', status: 'in_progress' },
    },
    ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
    ...(call.args === undefined
      ? []
      : [{ type: 'response.function_call_arguments.done', ...place, arguments: call.args }]),
    { type: 'response.output_item.done', output_index, item },
  ]
}

const events = ({ text: words = '', calls = [], finish = 'completed' }: Turn): string[] => {
  const first = words === '' ? 0 : 1
  const output = [
    ...(words === '' ? [] : [messageItem(words)]),
    ...calls.map((call, at) => callItem(call, `fc_${at + first}`)),
  ]
  const end =
    finish === 'completed' || finish === 'tool_calls'
      ? completed(output)
      : finish === 'max_output_tokens' || finish === 'content_filter'
        ? incomplete(finish, output)
        : completed(output, { status: finish })
  return namedSse(
    ...created(),
    ...(words === '' ? [] : messageEvents(words)),
    ...calls.flatMap((call, at) => callEvents(call, at + first)),
    end,
  )
}

export const responses: Wire = {
  model: 'openai-responses:m',
  contentType: 'text/event-stream',
  words: {
    stop: 'completed',
    toolCalls: 'completed',
    length: 'max_output_tokens',
    filter: 'content_filter',
  },
  endMarks: 1,
  events,
  sentCalls: (body) =>
    objects(body.input)
      .filter((item) => item.type === 'function_call')
      .map((item) => ({ id: text(item.call_id), name: text(item.name), args: parsed(item.arguments) })),
  sentResults: (body) =>
    objects(body.input)
      .filter((item) => item.type === 'function_call_output')
      .map((item) => ({ id: text(item.call_id), text: text(item.output) })),
}
