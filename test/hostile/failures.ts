import { expect } from 'vitest'
import { anthropic } from './anthropicWire.ts'
import { chunk, mistral, openai } from './chatWire.ts'
import { modelError, once, run } from './hostileRun.ts'
import { cohere, cohereEnd, google, ollama } from './otherWires.ts'
import { responses } from './responsesWire.ts'
import { sse, type Wire } from './wire.ts'

// The forms of an error after a 200 on each wire, and the error that is expected.

export type Failure = { form: string; event: string; expected: object }

const said = 'The model is overloaded.'
const retryable = { message: said, retryable: true }
const ndjson = (value: object) => `${JSON.stringify(value)}\n`
const [chatOverload = ''] = sse({ error: { message: said, type: 'server_error', code: 'overloaded' } })

export const failures: [Wire, Failure[]][] = [
  [
    openai,
    [
      { form: 'code', event: chatOverload, expected: { ...retryable, code: 'overloaded' } },
      {
        form: 'status',
        event: sse({ error: { message: said, code: 502 } }).join(''),
        expected: { ...retryable, status: 502 },
      },
      {
        form: 'named',
        event: `event: error\n${chatOverload}`,
        expected: { ...retryable, code: 'overloaded' },
      },
      {
        form: 'field',
        event: `error: ${JSON.stringify({ message: said, code: 503 })}\n\n`,
        expected: retryable,
      },
      {
        form: 'bare',
        event: `${JSON.stringify({ error: { message: said, code: 503 } })}\n\n`,
        expected: retryable,
      },
      {
        form: 'final',
        event: sse({ error: { message: said, code: 'invalid_prompt', type: 'invalid_request_error' } }).join(
          '',
        ),
        expected: { message: said, retryable: false },
      },
      {
        // OpenRouter: an ordinary chunk with an error on it.
        form: 'with_choices',
        event: sse({ ...chunk({ content: '' }, 'error'), error: { code: 502, message: said } }).join(''),
        expected: { ...retryable, status: 502 },
      },
      {
        // Groq, when it cannot parse the call the model wrote.
        form: 'tool_use_failed',
        event: sse({
          error: {
            message: said,
            type: 'invalid_request_error',
            code: 'tool_use_failed',
            failed_generation: '<function=get_wea',
          },
        }).join(''),
        expected: {
          message: `${said} Failed generation: <function=get_wea`,
          code: 'tool_use_failed',
          retryable: true,
        },
      },
    ],
  ],
  [
    mistral,
    [
      {
        form: 'object',
        event: sse({ object: 'error', message: said, type: 'internal_server_error', code: '3000' }).join(''),
        expected: retryable,
      },
    ],
  ],
  [
    anthropic,
    [
      {
        form: 'event',
        event: `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: said }, request_id: 'req_9' })}\n\n`,
        expected: { ...retryable, code: 'overloaded_error', requestId: 'req_9' },
      },
    ],
  ],
  [
    responses,
    [
      {
        form: 'event',
        event: sse({ type: 'error', code: 'server_error', message: said, param: null }).join(''),
        expected: { ...retryable, code: 'server_error' },
      },
      {
        form: 'failed',
        event: sse({
          type: 'response.failed',
          response: { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: said } },
        }).join(''),
        expected: { ...retryable, code: 'server_error' },
      },
    ],
  ],
  [
    google,
    [
      {
        form: 'error',
        event: sse({ error: { code: 503, message: said, status: 'UNAVAILABLE' } }).join(''),
        expected: { ...retryable, status: 503, code: 'UNAVAILABLE' },
      },
    ],
  ],
  [ollama, [{ form: 'line', event: ndjson({ error: said }), expected: retryable }]],
  [
    cohere,
    [
      {
        form: 'event',
        event: sse({ type: 'error', message: said, status_code: 503 }).join(''),
        expected: { ...retryable, status: 503 },
      },
      { form: 'ERROR', event: sse(cohereEnd('ERROR', { error: said })).join(''), expected: retryable },
      {
        form: 'TIMEOUT',
        event: sse(cohereEnd('TIMEOUT')).join(''),
        expected: { code: 'TIMEOUT', retryable: true },
      },
    ],
  ],
]

const words = 'Let me'
export const oslo = { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }

/** An answer that has begun: a text, and a call that is whole. */
export const openedAnswer = (wire: Wire): string[] =>
  wire.events({ text: words, calls: [oslo] }).slice(0, -wire.endMarks)

/** A typed error in the words of the provider. */
export const errorFirst = async (wire: Wire, { event, expected }: Failure): Promise<void> => {
  const outcome = await once(wire, [event])

  expect(modelError(outcome)).toMatchObject({ ...expected, provider: wire.model.split(':')[0] })
  expect(outcome.result).toMatchObject({ output: '', finishReason: 'error' })
}

/** The text so far is kept, its call never runs, nothing is asked again. */
export const errorMid = async (wire: Wire, { event, expected }: Failure): Promise<void> => {
  const options = { retry: { maxRetries: 2, initialDelayMs: 1 } }
  const outcome = await once(wire, [...openedAnswer(wire), event], options)

  expect(modelError(outcome)).toMatchObject(expected)
  expect(outcome.bodies).toHaveLength(1)
  expect(outcome.ran).toEqual([])
  expect(outcome.result).toMatchObject({ output: words, finishReason: 'error' })
}

/** A JSON error instead of a stream is a typed error. */
export const errorBody = async (wire: Wire, type: string): Promise<void> => {
  const event =
    wire === ollama ? { error: said } : wire === cohere ? { message: said } : { error: { message: said } }
  const body = JSON.stringify(wire === google ? [event] : event, null, 2)
  const outcome = await run(wire, [{ headers: { 'content-type': type, 'x-request-id': 'req_1' }, body }])

  expect(modelError(outcome)).toMatchObject({ message: said, requestId: 'req_1' })
  expect(outcome.bodies).toHaveLength(1)
  expect(outcome.result).toMatchObject({ output: '', finishReason: 'error' })
}
