import { weather } from '../tool.mjs'
import { callsOf, fragments, idOf, piece, usage } from './text.mjs'

const data = (body) => `data: ${JSON.stringify(body)}\n\n`

const chunk = (round, choices, rest = {}) =>
  data({
    id: idOf('chatcmpl-BkZsgr57IsWfwD2pLNTw1iJh', round),
    object: 'chat.completion.chunk',
    created: 1750440714,
    model: 'gpt-5-mini-2025-08-07',
    service_tier: 'default',
    system_fingerprint: 'fp_62a23a81ef',
    choices,
    ...rest,
  })
const delta = (round, fields, finish_reason = null) =>
  chunk(round, [{ index: 0, delta: fields, logprobs: null, finish_reason }])

const closing = (round, reason, chunks) => {
  const { input, output, total } = usage(chunks)
  const counts = { prompt_tokens: input, completion_tokens: output, total_tokens: total }
  return [delta(round, {}, reason), chunk(round, [], { usage: counts }), 'data: [DONE]\n\n']
}

export const openaiChat = {
  name: 'openai-chat',
  model: 'openai:gpt-5-mini',
  base: '/v1',
  path: '/chat/completions',
  framing: 'sse',

  opening: (round) => [delta(round, { role: 'assistant', content: '', refusal: null })],
  text: (index, round) => delta(round, { content: piece(index) }),
  /** Any piece of text: typed answers are measured on this wire. */
  said: (content, round) => delta(round, { content }),
  closing: (chunks, round) => closing(round, 'stop', chunks),
  calls: (round, count) => [
    delta(round, { role: 'assistant', content: null }),
    ...callsOf(round, count).flatMap(({ id, name, arguments: whole }, index) => [
      delta(round, { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...fragments(whole).map((part) =>
        delta(round, { tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ]),
    ...closing(round, 'tool_calls', count),
  ],
  resultsIn: ({ messages }) => messages.filter(({ role }) => role === 'tool').length,

  start: (prompt) => [{ role: 'user', content: prompt }],
  request: (messages, hasTools) => ({
    model: 'gpt-5-mini',
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(hasTools && {
      tools: [
        {
          type: 'function',
          function: {
            name: weather.name,
            description: weather.description,
            parameters: weather.parameters,
          },
        },
      ],
    }),
  }),
  /** The fields that a request for a typed answer adds. */
  shaped: (schema) => ({
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
  }),
  read: (event, answer) => {
    if (event === '[DONE]') return
    const fields = JSON.parse(event).choices[0]?.delta
    if (!fields) return
    if (fields.content) answer.add(fields.content)
    for (const { index, id, function: called } of fields.tool_calls ?? []) {
      if (id) answer.calls[index] = { id, name: called.name, arguments: '' }
      answer.calls[index].arguments += called.arguments
    }
  },
  next: (messages, { calls }, results) => [
    ...messages,
    {
      role: 'assistant',
      content: null,
      tool_calls: calls.map(({ id, name, arguments: whole }) => ({
        id,
        type: 'function',
        function: { name, arguments: whole },
      })),
    },
    ...calls.map(({ id }, index) => ({ role: 'tool', tool_call_id: id, content: results[index] })),
  ],
}
