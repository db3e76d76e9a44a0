import { describe, expect, test } from 'vitest'
import { anthropic } from './anthropicWire.ts'
import { chunk, mistral, openai } from './chatWire.ts'
import { farewell, hostileAgent, lastTurn, modelError, once, run } from './hostileRun.ts'
import { cohere, cohereEnd, google, ollama } from './otherWires.ts'
import { responses } from './responsesWire.ts'
import { answer, sse, type Wire } from './wire.ts'

// Errors after a 200: instead of the stream, as its first event, in its middle. Rows 42, 45, 58, 90 and 92 of the list
// of wire failures. What was shown is never silently shown again.

type Failure = { told: string; event: string; expected: object }

const said = 'The model is overloaded.'
const retryable = { message: said, retryable: true }
const ndjson = (value: object) => `${JSON.stringify(value)}\n`
const [chatOverload = ''] = sse({ error: { message: said, type: 'server_error', code: 'overloaded' } })

const failures: [Wire, Failure[]][] = [
  [
    openai,
    [
      { told: 'code', event: chatOverload, expected: { ...retryable, code: 'overloaded' } },
      {
        told: 'status',
        event: sse({ error: { message: said, code: 502 } }).join(''),
        expected: { ...retryable, status: 502 },
      },
      {
        told: 'named',
        event: `event: error\n${chatOverload}`,
        expected: { ...retryable, code: 'overloaded' },
      },
      {
        told: 'field',
        event: `error: ${JSON.stringify({ message: said, code: 503 })}\n\n`,
        expected: retryable,
      },
      {
        told: 'bare',
        event: `${JSON.stringify({ error: { message: said, code: 503 } })}\n\n`,
        expected: retryable,
      },
      {
        told: 'final',
        event: sse({ error: { message: said, code: 'invalid_prompt', type: 'invalid_request_error' } }).join(
          '',
        ),
        expected: { message: said, retryable: false },
      },
      {
        // OpenRouter: an ordinary chunk with an error on it.
        told: 'with_choices',
        event: sse({ ...chunk({ content: '' }, 'error'), error: { code: 502, message: said } }).join(''),
        expected: { ...retryable, status: 502 },
      },
      {
        // Groq, when it cannot parse the call the model wrote.
        told: 'tool_use_failed',
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
        told: 'object',
        event: sse({ object: 'error', message: said, type: 'internal_server_error', code: '3000' }).join(''),
        expected: retryable,
      },
    ],
  ],
  [
    anthropic,
    [
      {
        told: 'event',
        event: `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: said }, request_id: 'req_9' })}\n\n`,
        expected: { ...retryable, code: 'overloaded_error', requestId: 'req_9' },
      },
    ],
  ],
  [
    responses,
    [
      {
        told: 'event',
        event: sse({ type: 'error', code: 'server_error', message: said, param: null }).join(''),
        expected: { ...retryable, code: 'server_error' },
      },
      {
        told: 'failed',
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
        told: 'error',
        event: sse({ error: { code: 503, message: said, status: 'UNAVAILABLE' } }).join(''),
        expected: { ...retryable, status: 503, code: 'UNAVAILABLE' },
      },
    ],
  ],
  [ollama, [{ told: 'line', event: ndjson({ error: said }), expected: retryable }]],
  [
    cohere,
    [
      {
        told: 'event',
        event: sse({ type: 'error', message: said, status_code: 503 }).join(''),
        expected: { ...retryable, status: 503 },
      },
      { told: 'ERROR', event: sse(cohereEnd('ERROR', { error: said })).join(''), expected: retryable },
      {
        told: 'TIMEOUT',
        event: sse(cohereEnd('TIMEOUT')).join(''),
        expected: { code: 'TIMEOUT', retryable: true },
      },
    ],
  ],
]

const words = 'Let me'
const oslo = { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }

describe.each(failures)('$model', (wire, told) => {
  const opened = wire.events({ text: words, calls: [oslo] }).slice(0, -wire.endMarks)

  test.each(told)(
    'error_first ($told): a typed error in the words of the provider',
    async ({ event, expected }) => {
      const outcome = await once(wire, [event])

      expect(modelError(outcome)).toMatchObject({ ...expected, provider: wire.model.split(':')[0] })
      expect(outcome.result).toMatchObject({ output: '', finishReason: 'error' })
    },
  )

  test.each(told)(
    'error_mid ($told): the text so far is kept, its call never runs, nothing is asked again',
    async ({ event, expected }) => {
      const options = { retry: { maxRetries: 2, initialDelayMs: 1 } }
      const outcome = await once(wire, [...opened, event], options)

      expect(modelError(outcome)).toMatchObject(expected)
      expect(outcome.bodies).toHaveLength(1)
      expect(outcome.ran).toEqual([])
      expect(outcome.result).toMatchObject({ output: words, finishReason: 'error' })
    },
  )

  test('error_retried: an error before anything was shown is tried again', async () => {
    const [failure] = told
    const options = { retry: { maxRetries: 1, initialDelayMs: 1 } }
    const outcome = await run(wire, [answer(wire, [failure?.event ?? '']), lastTurn(wire)], options)

    expect(outcome.error).toBeUndefined()
    expect(outcome.bodies).toHaveLength(2)
    expect(outcome.bodies[1]).toEqual(outcome.bodies[0])
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test('error_restarted: with midStream the answer starts over, and listeners are told', async () => {
    const [failure] = told
    const answers = [answer(wire, [...opened, failure?.event ?? '']), lastTurn(wire)]
    const { agent, ran } = await hostileAgent(wire, answers, {
      retry: { maxRetries: 1, initialDelayMs: 1, midStream: true },
    })
    const actor = agent.actor({ prompt: 'How is the weather?' })
    const restarts: boolean[] = []
    actor.on('retry', ({ restart }) => restarts.push(restart))
    const done = new Promise((resolve) => actor.subscribe({ complete: () => resolve(undefined) }))
    actor.start()
    await done

    expect(actor.getSnapshot().output).toMatchObject({ status: 'complete', output: farewell })
    expect(restarts).toEqual([true])
    expect(ran).toEqual([])
  })

  test.each(['application/json', wire.contentType])(
    'error_body (%s): a JSON error instead of a stream is a typed error',
    async (type) => {
      const event =
        wire === ollama ? { error: said } : wire === cohere ? { message: said } : { error: { message: said } }
      const body = JSON.stringify(wire === google ? [event] : event, null, 2)
      const outcome = await run(wire, [{ headers: { 'content-type': type, 'x-request-id': 'req_1' }, body }])

      expect(modelError(outcome)).toMatchObject({ message: said, requestId: 'req_1' })
      expect(outcome.bodies).toHaveLength(1)
      expect(outcome.result).toMatchObject({ output: '', finishReason: 'error' })
    },
  )

  test('error_closes: after an error the connection is closed, even if the server would go on', async () => {
    const [failure] = told
    const stalling = answer(wire, [...opened, failure?.event ?? ''], 'stall')
    const { agent, server } = await hostileAgent(wire, [stalling])

    await expect(agent.send('How is the weather?')).rejects.toMatchObject(failure?.expected ?? {})
    await server.left()
  })

  test('error_after_tools: an error in the second turn loses nothing of the first', async () => {
    const [failure] = told
    const first = answer(wire, wire.events({ calls: [oslo] }))
    const outcome = await run(wire, [first, answer(wire, [failure?.event ?? ''])])

    expect(modelError(outcome)).toMatchObject(failure?.expected ?? {})
    expect(outcome.ran).toHaveLength(1)
    expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(outcome.result.usage).toMatchObject({ inputTokens: expect.any(Number) })
  })
})
