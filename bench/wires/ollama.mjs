import { weather } from '../tool.mjs'
import { callsOf, piece, usage } from './text.mjs'

const line = (message, rest = { done: false }) =>
  `${JSON.stringify({
    model: 'qwen3:8b',
    created_at: '2025-08-20T13:48:23.24606Z',
    message: { role: 'assistant', content: '', ...message },
    ...rest,
  })}\n`

const last = (chunks) => {
  const { input, output } = usage(chunks)
  return line(
    {},
    {
      done_reason: 'stop',
      done: true,
      total_duration: 313801125,
      load_duration: 41717917,
      prompt_eval_count: input,
      prompt_eval_duration: 27758541,
      eval_count: output,
      eval_duration: 243926334,
    },
  )
}

export const ollama = {
  name: 'ollama',
  model: 'ollama:qwen3:8b',
  base: '/api',
  path: '/chat',
  framing: 'ndjson',

  opening: () => [],
  text: (index) => line({ content: piece(index) }),
  closing: (chunks) => [last(chunks)],
  calls: (round, count) => [
    ...callsOf(round, count).map(({ id, name, arguments: whole }, index) =>
      line({ tool_calls: [{ id, function: { index, name, arguments: JSON.parse(whole) } }] }),
    ),
    last(count),
  ],
  resultsIn: ({ messages }) => messages.filter(({ role }) => role === 'tool').length,

  start: (prompt) => [{ role: 'user', content: prompt }],
  request: (messages, hasTools) => ({
    model: 'qwen3:8b',
    messages,
    stream: true,
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
  read: (text, answer) => {
    const { content, tool_calls: calls } = JSON.parse(text).message
    if (content) answer.add(content)
    for (const { id, function: called } of calls ?? []) {
      answer.calls.push({ id, name: called.name, input: called.arguments })
    }
  },
  next: (messages, { calls }, results) => [
    ...messages,
    {
      role: 'assistant',
      content: '',
      tool_calls: calls.map(({ id, name, input }) => ({ id, function: { name, arguments: input } })),
    },
    ...calls.map(({ name }, index) => ({ role: 'tool', tool_name: name, content: results[index] })),
  ],
}
