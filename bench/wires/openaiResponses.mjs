import { weather } from '../tool.mjs'
import { callsOf, fragments, piece, textOf, usage } from './text.mjs'

const item_id = 'msg_04a97b4fce127879006949a87d97e081959020140d5b07b7b5'
const at = { item_id, output_index: 0, content_index: 0 }

const event = (type, sequence_number, fields) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...fields })}\n\n`

/** The id holds the round, because a continued response sends only what is new. */
const response = (round, status, output, rest = {}) => ({
  response: {
    id: `resp_04a97b4fce127879006949a87ab0cc8195b3175edc26_round_${round}`,
    object: 'response',
    created_at: 1766434938,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: 'gpt-5-mini-2025-08-07',
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: 'medium', summary: null },
    service_tier: 'default',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    metadata: {},
    ...rest,
  },
})

const started = (round) => [
  event('response.created', 0, response(round, 'in_progress', [])),
  event('response.in_progress', 1, response(round, 'in_progress', [])),
]
const completed = (round, output, chunks) => {
  const { input, output: written, total } = usage(chunks)
  const counts = { input_tokens: input, output_tokens: written, total_tokens: total }
  return event('response.completed', chunks + 9, response(round, 'completed', output, { usage: counts }))
}
const message = (status, content) => ({ id: item_id, type: 'message', status, content, role: 'assistant' })
const part = (text) => ({ type: 'output_text', annotations: [], logprobs: [], text })
const callItem = ({ id, name, arguments: whole }, status) => ({
  id: `fc_${id}`,
  type: 'function_call',
  status,
  arguments: whole,
  call_id: id,
  name,
})

export const openaiResponses = {
  name: 'openai-responses',
  model: 'openai-responses:gpt-5-mini',
  base: '/v1',
  path: '/responses',
  framing: 'sse',

  opening: (round) => [
    ...started(round),
    event('response.output_item.added', 2, { output_index: 0, item: message('in_progress', []) }),
    event('response.content_part.added', 3, { ...at, part: part('') }),
  ],
  text: (index) =>
    event('response.output_text.delta', index + 4, {
      ...at,
      delta: piece(index),
      logprobs: [],
      obfuscation: 'dhsaeQk02A',
    }),
  closing: (chunks, round) => {
    const text = textOf(chunks)
    const whole = message('completed', [part(text)])
    return [
      event('response.output_text.done', chunks + 4, { ...at, text, logprobs: [] }),
      event('response.content_part.done', chunks + 5, { ...at, part: part(text) }),
      event('response.output_item.done', chunks + 6, { output_index: 0, item: whole }),
      completed(round, [whole], chunks),
    ]
  },
  calls: (round, count) => {
    const calls = callsOf(round, count)
    const items = calls.map((call) => callItem(call, 'completed'))
    return [
      ...started(round),
      ...calls.flatMap((call, output_index) => {
        const about = { item_id: `fc_${call.id}`, output_index }
        return [
          event('response.output_item.added', 2, {
            output_index,
            item: callItem({ ...call, arguments: '' }, 'in_progress'),
          }),
          ...fragments(call.arguments).map((delta) =>
            event('response.function_call_arguments.delta', 3, { ...about, delta, obfuscation: 'Td6ufh' }),
          ),
          event('response.function_call_arguments.done', 4, { ...about, arguments: call.arguments }),
          event('response.output_item.done', 5, { output_index, item: items[output_index] }),
        ]
      }),
      completed(round, items, count),
    ]
  },
  roundOf: ({ previous_response_id: previous }) => previous && Number(/round_(\d+)$/.exec(previous)?.[1]) + 1,
  resultsIn: ({ input }) =>
    Array.isArray(input) ? input.filter(({ type }) => type === 'function_call_output').length : 0,

  start: (prompt) => ({ input: [{ role: 'user', content: prompt }] }),
  request: (turn, hasTools) => ({
    model: 'gpt-5-mini',
    ...turn,
    stream: true,
    ...(hasTools && {
      tools: [
        {
          type: 'function',
          name: weather.name,
          description: weather.description,
          parameters: weather.parameters,
        },
      ],
    }),
  }),
  read: (text, answer) => {
    const body = JSON.parse(text)
    if (body.type === 'response.output_text.delta') answer.add(body.delta)
    else if (body.type === 'response.created') answer.id = body.response.id
    else if (body.type === 'response.output_item.done' && body.item.type === 'function_call') {
      const { call_id: id, name, arguments: whole } = body.item
      answer.calls.push({ id, name, arguments: whole })
    }
  },
  next: (_, { id, calls }, results) => ({
    previous_response_id: id,
    input: calls.map((call, index) => ({
      type: 'function_call_output',
      call_id: call.id,
      output: results[index],
    })),
  }),
}
