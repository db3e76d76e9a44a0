import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { anthropic } from './anthropicWire.ts'
import { callPiece, mistral, openai } from './chatWire.ts'
import { callsRun, farewell, lastTurn, modelError, run, time, weather, wires } from './hostileRun.ts'
import { cohere, functionCall, google, googleChunk, ollama, ollamaCall } from './otherWires.ts'
import { callItem, completed, messageItem, responses } from './responsesWire.ts'
import type { Wire } from './wire.ts'

// A server that cannot stream answers with one JSON document: row 24 of the list of wire failures. It is read as the
// answer it is, and a document that was cut is no answer.

const words = 'Let me look.'
const calls = [
  { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' },
  { id: 'call_2', name: 'get_time', args: '{}' },
]
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: words, tool_calls: calls.map(callPiece) },
      finish_reason: 'tool_calls',
    },
  ],
  usage,
}

const documents = new Map<Wire, JsonValue>([
  [openai, completion],
  [mistral, completion],
  [
    anthropic,
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'text', text: words },
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'call_2', name: 'get_time', input: {} },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 5 },
    },
  ],
  [
    responses,
    (
      completed([messageItem(words), ...calls.map((call, at) => callItem(call, `fc_${at}`))]) as {
        response: JsonObject
      }
    ).response,
  ],
  [
    google,
    [
      googleChunk(
        [
          { text: words },
          functionCall({ name: 'get_weather', args: { city: 'Oslo' } }),
          functionCall({ name: 'get_time' }),
        ],
        'STOP',
      ),
    ],
  ],
  [
    ollama,
    {
      model: 'm',
      message: {
        role: 'assistant',
        content: words,
        tool_calls: [
          ollamaCall({ name: 'get_weather', args: { city: 'Oslo' } }),
          ollamaCall({ name: 'get_time', args: {} }),
        ],
      },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 10,
      eval_count: 5,
    },
  ],
  [
    cohere,
    {
      id: 'resp-1',
      message: {
        role: 'assistant',
        content: [{ type: 'text', text: words }],
        tool_calls: calls.map(({ id, name, args }) => ({
          id,
          type: 'function',
          function: { name, arguments: args },
        })),
      },
      finish_reason: 'TOOL_CALL',
      usage: { tokens: { input_tokens: 10, output_tokens: 5 } },
    },
  ],
])

const headers = { 'content-type': 'application/json' }

describe.each(wires)('$model', (wire) => {
  const document = documents.get(wire) ?? null

  test.each([
    ['one_line', JSON.stringify(document)],
    ['pretty', JSON.stringify(document, null, 2)],
  ])('not_streamed (%s): a whole answer is an answer', async (_, body) => {
    const outcome = await run(wire, [{ headers, body }, lastTurn(wire)])

    expect(outcome.error).toBeUndefined()
    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
    expect(outcome.result).toMatchObject({ output: `${words}\n${farewell}`, finishReason: 'stop' })
    expect(outcome.result.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 })
  })

  test.each(['clean', 'destroy'] as const)(
    'not_streamed_cut (%s): half a document runs nothing',
    async (ending) => {
      const body = JSON.stringify(document, null, 2)
      const outcome = await run(wire, [{ headers, body: body.slice(0, -30), ending }])

      expect(modelError(outcome).retryable).toBe(true)
      expect(outcome.ran).toEqual([])
      expect(outcome.bodies).toHaveLength(1)
    },
  )
})
