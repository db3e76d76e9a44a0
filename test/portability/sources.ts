import { type Event, firstWords, lastWords, named, ndjson, type Source, sse, thought } from './source.ts'

// What each protocol sends in the same conversation: thoughts, a text and two calls, then a call that uses an id
// again, then the last words. Everything marked as sealed belongs to the provider that sent it and to no other.

const oslo = { city: 'Oslo' }
const rome = { city: 'Rome' }

const longId = `call.long:${'x'.repeat(70)}`
const oddId = 'functions.get_weather:0 ü'

const chatCall = (index: number, id: string, args: object) => ({
  index,
  id,
  type: 'function',
  function: { name: 'get_weather', arguments: JSON.stringify(args) },
})

const chat = (id: string, deltas: object[], finish_reason: string): string =>
  sse(
    [
      ...deltas.map((delta) => ({ id, choices: [{ index: 0, delta, finish_reason: null }] })),
      {
        id,
        choices: [{ index: 0, delta: {}, finish_reason }],
        usage: { prompt_tokens: 1, completion_tokens: 1 },
      },
    ],
    'data: [DONE]\n\n',
  )

const detail = { type: 'reasoning.text', text: thought, signature: 'sealed-chat+/==', format: 'x', index: 0 }

const openaiChat: Source = {
  protocol: 'openai-chat',
  model: 'openrouter:anthropic/claude-sonnet-5',
  answers: [
    chat(
      'gen-sealed-1',
      [
        { reasoning: thought, reasoning_details: [detail] },
        { content: firstWords },
        { tool_calls: [chatCall(0, oddId, oslo), chatCall(1, longId, rome)] },
      ],
      'tool_calls',
    ),
    chat('gen-sealed-2', [{ tool_calls: [chatCall(0, oddId, oslo)] }], 'tool_calls'),
    chat('gen-sealed-3', [{ content: lastWords }], 'stop'),
  ],
  sealed: ['sealed-chat+/==', 'gen-sealed', 'reasoning_details'],
  returned: [JSON.stringify(detail)],
}

const mistralThinking = { type: 'thinking', thinking: [{ type: 'text', text: thought }], closed: true }

const mistral: Source = {
  protocol: 'mistral',
  model: 'mistral:magistral-medium-latest',
  answers: [
    chat(
      'cmpl-sealed-1',
      [
        { content: [mistralThinking] },
        { content: firstWords },
        { tool_calls: [chatCall(0, 'aB3dE6gH9', oslo), chatCall(1, 'zY8wV5uT2', rome)] },
      ],
      'tool_calls',
    ),
    chat('cmpl-sealed-2', [{ tool_calls: [chatCall(0, 'aB3dE6gH9', oslo)] }], 'tool_calls'),
    chat('cmpl-sealed-3', [{ content: lastWords }], 'stop'),
  ],
  sealed: ['cmpl-sealed', '"thinking"'],
  returned: [JSON.stringify(mistralThinking)],
}

const responses = (id: string, output: Event[]): string =>
  named([
    { type: 'response.created', response: { id, status: 'in_progress', output: [] } },
    ...output.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { id, status: 'completed', output, usage: { input_tokens: 1 } } },
  ])

const responsesCall = (call_id: string, args: object) => ({
  type: 'function_call',
  id: `fc_sealed_${call_id.length}`,
  call_id,
  name: 'get_weather',
  arguments: JSON.stringify(args),
  status: 'completed',
})

const responsesText = (text: string) => ({
  type: 'message',
  id: 'msg_sealed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
})

const reasoningItem = {
  type: 'reasoning',
  id: 'rs_sealed',
  summary: [{ type: 'summary_text', text: thought }],
  encrypted_content: 'sealed-responses+/==',
}

const openaiResponses: Source = {
  protocol: 'openai-responses',
  model: 'openai-responses:gpt-5-mini',
  answers: [
    responses('resp_sealed_1', [
      reasoningItem,
      responsesText(firstWords),
      responsesCall('call_0', oslo),
      responsesCall(longId, rome),
    ]),
    responses('resp_sealed_2', [responsesCall('call_0', oslo)]),
    responses('resp_sealed_3', [responsesText(lastWords)]),
  ],
  sealed: ['resp_sealed', 'rs_sealed', 'sealed-responses', 'fc_sealed', 'msg_sealed'],
  returned: ['"previous_response_id":"resp_sealed_3"'],
}

const message = (id: string, blocks: [start: object, ...deltas: object[]][], stop_reason: string): string =>
  named([
    { type: 'message_start', message: { id, role: 'assistant', content: [], usage: { input_tokens: 1 } } },
    ...blocks.flatMap(([content_block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ])

const toolUse = (id: string, input: object): [object, object] => [
  { type: 'tool_use', id, name: 'get_weather', input: {} },
  { type: 'input_json_delta', partial_json: JSON.stringify(input) },
]

const text = (text: string): [object, object] => [
  { type: 'text', text: '' },
  { type: 'text_delta', text },
]

const anthropic: Source = {
  protocol: 'anthropic',
  model: 'anthropic:claude-sonnet-5',
  answers: [
    message(
      'msg_sealed_1',
      [
        [
          { type: 'thinking', thinking: '' },
          { type: 'thinking_delta', thinking: thought },
          { type: 'signature_delta', signature: 'sealed-claude+/==' },
        ],
        [{ type: 'redacted_thinking', data: 'sealed-redacted+/==' }],
        text(firstWords),
        toolUse('toolu_1', oslo),
        toolUse('toolu_2', rome),
      ],
      'tool_use',
    ),
    message('msg_sealed_2', [toolUse('toolu_1', oslo)], 'tool_use'),
    message('msg_sealed_3', [text(lastWords)], 'end_turn'),
  ],
  sealed: ['sealed-claude+/==', 'sealed-redacted+/==', 'msg_sealed'],
  returned: [
    JSON.stringify({ type: 'thinking', thinking: thought, signature: 'sealed-claude+/==' }),
    JSON.stringify({ type: 'redacted_thinking', data: 'sealed-redacted+/==' }),
  ],
}

const gemini = (responseId: string, parts: object[]): string =>
  sse([{ responseId, candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }])

const functionCall = (args: object) => ({ name: 'get_weather', args })

const google: Source = {
  protocol: 'google',
  model: 'google:gemini-3-flash',
  answers: [
    gemini('goog_sealed_1', [
      { text: thought, thought: true },
      { text: firstWords },
      // Neither has an id of its own.
      { functionCall: functionCall(oslo), thoughtSignature: 'sealed-gemini+/==' },
      { functionCall: functionCall(rome) },
    ]),
    gemini('goog_sealed_2', [
      { functionCall: { ...functionCall(oslo), id: 'fc-1' }, thoughtSignature: 'sealed-second+/==' },
    ]),
    gemini('goog_sealed_3', [{ text: lastWords }]),
  ],
  sealed: ['sealed-gemini+/==', 'sealed-second+/==', 'goog_sealed'],
  returned: [
    JSON.stringify({ functionCall: functionCall(oslo), thoughtSignature: 'sealed-gemini+/==' }),
    JSON.stringify({
      functionCall: { ...functionCall(oslo), id: 'fc-1' },
      thoughtSignature: 'sealed-second+/==',
    }),
  ],
}

const ollamaCall = (args: object) => ({ function: { name: 'get_weather', arguments: args } })
const ollamaEnd = { message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' }
const ollamaLine = (message: object) => ({
  message: { role: 'assistant', content: '', ...message },
  done: false,
})

const ollama: Source = {
  protocol: 'ollama',
  model: 'ollama:qwen3:8b',
  answers: [
    ndjson([
      ollamaLine({ thinking: thought }),
      ollamaLine({ content: firstWords }),
      ollamaLine({ tool_calls: [ollamaCall(oslo), ollamaCall(rome)] }),
      ollamaEnd,
    ]),
    ndjson([ollamaLine({ tool_calls: [ollamaCall(oslo)] }), ollamaEnd]),
    ndjson([ollamaLine({ content: lastWords }), ollamaEnd]),
  ],
  sealed: ['"thinking"'],
  returned: [`"thinking":${JSON.stringify(thought)}`],
}

const cohereMessage = (id: string, events: Event[], finish_reason: string): string =>
  named([
    { type: 'message-start', id, delta: { message: { role: 'assistant' } } },
    ...events,
    {
      type: 'message-end',
      delta: { finish_reason, usage: { tokens: { input_tokens: 1, output_tokens: 1 } } },
    },
  ])

const cohereCall = (index: number, id: string, args: object) => [
  {
    type: 'tool-call-start',
    index,
    delta: {
      message: { tool_calls: { id, type: 'function', function: { name: 'get_weather', arguments: '' } } },
    },
  },
  {
    type: 'tool-call-delta',
    index,
    delta: { message: { tool_calls: { function: { arguments: JSON.stringify(args) } } } },
  },
]

const cohereText = (text: string) => ({
  type: 'content-delta',
  index: 0,
  delta: { message: { content: { text } } },
})

const cohere: Source = {
  protocol: 'cohere',
  model: 'cohere:command-a-03-2025',
  answers: [
    cohereMessage(
      'cohere-sealed-1',
      [
        { type: 'tool-plan-delta', delta: { message: { tool_plan: thought } } },
        cohereText(firstWords),
        ...cohereCall(0, 'get_weather_a1b2', oslo),
        ...cohereCall(1, 'get_weather_c3d4', rome),
      ],
      'TOOL_CALL',
    ),
    cohereMessage('cohere-sealed-2', cohereCall(0, 'get_weather_a1b2', oslo), 'TOOL_CALL'),
    cohereMessage('cohere-sealed-3', [cohereText(lastWords)], 'COMPLETE'),
  ],
  sealed: ['cohere-sealed'],
  returned: [`"tool_plan":${JSON.stringify(thought)}`],
}

export const sources = [openaiChat, openaiResponses, anthropic, google, ollama, mistral, cohere]
