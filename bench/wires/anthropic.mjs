import { weather } from '../tool.mjs'
import { callsOf, fragments, idOf, piece, usage } from './text.mjs'

const event = (type, fields = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const started = (round) => [
  event('message_start', {
    message: {
      id: idOf('msg_01RprQMTVaxMt5KCvfwJ', round),
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: usage(0).input, output_tokens: 1, service_tier: 'standard' },
    },
  }),
]
const stopped = (stop_reason, chunks) => [
  event('message_delta', {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: usage(chunks).output },
  }),
  event('message_stop'),
]
const blockStart = (index, content_block) => event('content_block_start', { index, content_block })
const blockStop = (index) => event('content_block_stop', { index })

export const anthropic = {
  name: 'anthropic',
  model: 'anthropic:claude-sonnet-5',
  base: '/v1',
  path: '/messages',
  framing: 'sse',

  opening: (round) => [...started(round), blockStart(0, { type: 'text', text: '' }), event('ping')],
  text: (index) =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece(index) } }),
  closing: (chunks) => [blockStop(0), ...stopped('end_turn', chunks)],
  calls: (round, count) => [
    ...started(round),
    ...callsOf(round, count).flatMap(({ id, name, arguments: whole }, index) => [
      blockStart(index, { type: 'tool_use', id, name, input: {} }),
      ...fragments(whole).map((partial_json) =>
        event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }),
      ),
      blockStop(index),
    ]),
    ...stopped('tool_use', count),
  ],
  resultsIn: ({ messages }) =>
    messages.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result').length,

  start: (prompt) => [{ role: 'user', content: prompt }],
  headers: { 'anthropic-version': '2023-06-01' },
  request: (messages, hasTools) => ({
    model: 'claude-sonnet-5',
    max_tokens: 64_000,
    messages,
    stream: true,
    ...(hasTools && {
      tools: [{ name: weather.name, description: weather.description, input_schema: weather.parameters }],
    }),
  }),
  read: (text, answer) => {
    const { type, index, delta, content_block: block } = JSON.parse(text)
    if (type === 'content_block_delta') {
      if (delta.type === 'text_delta') answer.add(delta.text)
      else if (delta.type === 'input_json_delta') answer.calls[index].arguments += delta.partial_json
    } else if (type === 'content_block_start' && block.type === 'tool_use') {
      answer.calls[index] = { id: block.id, name: block.name, arguments: '' }
    }
  },
  next: (messages, { calls }, results) => [
    ...messages,
    {
      role: 'assistant',
      content: calls.map(({ id, name, arguments: whole }) => ({
        type: 'tool_use',
        id,
        name,
        input: JSON.parse(whole),
      })),
    },
    {
      role: 'user',
      content: calls.map(({ id }, index) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: results[index],
      })),
    },
  ],
}
