import { describe, expect, test } from 'vitest'
import { chunk, mistral, openai, usageChunk } from './chatWire.ts'
import { callsRun, lastTurn, modelError, run, weather } from './hostileRun.ts'
import { google, googleChunk } from './otherWires.ts'
import { answer, sse, type Wire } from './wire.ts'

// Gemini behind OpenRouter, and older Gemini itself, send a finish reason with every chunk: it then says nothing about
// the end, and a connection that breaks must not pass for one.

const call = (id: string, city: string) =>
  chunk(
    {
      tool_calls: [
        {
          index: 0,
          id,
          type: 'function',
          function: { name: 'get_weather', arguments: `{"city":"${city}"}` },
        },
      ],
    },
    'tool_calls',
  )

const googleCall = (city: string) =>
  googleChunk([{ functionCall: { name: 'get_weather', args: { city } } }], 'STOP')

const eager: [Wire, string[]][] = [
  [openai, sse(call('a', 'Oslo'), call('b', 'Rome'), usageChunk, '[DONE]')],
  [mistral, sse(call('a', 'Oslo'), call('b', 'Rome'), usageChunk, '[DONE]')],
  [google, sse(googleCall('Oslo'), googleCall('Rome'), googleChunk([{ text: '' }], 'STOP'))],
]

describe.each(eager)('$model', (wire, events) => {
  test('eager: all calls of a whole answer run', async () => {
    const outcome = await run(wire, [answer(wire, events), lastTurn(wire)])
    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
    expect(outcome.error).toBeUndefined()
  })

  test.each([1, 2])('eager: broken after %i calls, none of them runs', async (count) => {
    const outcome = await run(wire, [answer(wire, events.slice(0, count), 'destroy'), lastTurn(wire)])
    expect(modelError(outcome)).toMatchObject({ code: 'UND_ERR_SOCKET', retryable: true })
    expect(outcome.ran).toEqual([])
  })

  test('eager: broken after a chunk without content, the answer is complete', async () => {
    const outcome = await run(wire, [answer(wire, events.slice(0, 3), 'destroy'), lastTurn(wire)])
    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
  })
})

test('eager: where [DONE] can be expected, an early end is a cut once content came after a finish reason', async () => {
  const [, events = []] = eager[0] ?? []
  const outcome = await run(openai, [answer(openai, events.slice(0, 2)), lastTurn(openai)])
  expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
  expect(outcome.ran).toEqual([])
})
