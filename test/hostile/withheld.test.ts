import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { toolCallsOf, toolResultsOf } from '../../src/messages/messages.ts'
import { anthropic, close, grow, message, messageEnd, messageStart, open } from './anthropicWire.ts'
import { callChunk, chatEvents, chunk, mistral, openai } from './chatWire.ts'
import {
  callsRun,
  farewell,
  loop,
  modelError,
  type Outcome,
  once,
  time,
  weather,
  wires,
} from './hostileRun.ts'
import {
  cohere,
  cohereEnd,
  coherePiece,
  cohereStart,
  functionCall,
  google,
  googleChunk,
} from './otherWires.ts'
import { callItem, completed, created, responses } from './responsesWire.ts'
import { namedSse, sse, type Wire } from './wire.ts'

// A call runs only when its protocol closed it and the answer ended in a good word. Every other call is kept, the model
// learns why it did not run, and the conversation goes on.

const oslo = { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }
const clock = { id: 'call_2', name: 'get_time' }

/** Checks that no call ran, that every call has an error result, and that the model sees it. */
const expectWithheld = (wire: Wire, outcome: Outcome, calls: number): void => {
  expect(outcome.error).toBeUndefined()
  expect(callsRun(outcome)).toEqual([])
  expect(outcome.result.messages.flatMap(toolCallsOf)).toHaveLength(calls)
  const results = outcome.result.messages.flatMap(toolResultsOf)
  expect(results.map(({ isError }) => isError)).toEqual(Array.from({ length: calls }, () => true))
  for (const { text } of wire.sentResults(outcome.bodies[1] ?? {})) expect(text).toMatch(/not run/)
  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
}

describe.each(wires)('$model', (wire) => {
  test('the calls of an answer that a filter stopped do not run', async () => {
    const outcome = await loop(wire, { calls: [oslo, { ...clock, args: '{}' }], finish: wire.words.filter })
    expectWithheld(wire, outcome, 2)
  })

  test('what the model wrote of them is kept', async () => {
    const { result } = await loop(wire, { calls: [oslo], finish: wire.words.filter })
    expect(result.messages.flatMap(toolCallsOf)[0]).toMatchObject({
      name: 'get_weather',
      arguments: { city: 'Oslo' },
    })
  })
})

describe.each([openai, mistral])('$model', (wire) => {
  const nameOnly = callChunk({ index: 0, ...clock })

  test.each(['content_filter', 'error', 'network_error', 'insufficient_system_resource'])(
    'a call that is only a name does not run after "%s"',
    async (word) => expectWithheld(wire, await loop(wire, chatEvents([nameOnly], word)), 1),
  )

  test('nor without any word for the end', async () => {
    expectWithheld(wire, await loop(wire, sse(nameOnly, '[DONE]')), 1)
  })

  test('nor beside a refusal', async () => {
    const refusal = chunk({ refusal: 'I will not do that.' })
    expectWithheld(wire, await loop(wire, chatEvents([callChunk({ index: 0, ...oslo }), refusal], 'stop')), 1)
  })

  test('a call with whole arguments needs no word', async () => {
    const outcome = await loop(wire, sse(callChunk({ index: 0, ...oslo }), '[DONE]'))
    expect(callsRun(outcome)).toEqual([weather('Oslo')])
  })

  test('a call without arguments runs in an answer that was not streamed and has no word', async () => {
    const whole = {
      id: 'x',
      choices: [{ message: { tool_calls: [{ id: 'a', function: { name: 'get_time' } }] } }],
    }
    expect(callsRun(await loop(wire, sse(whole, '[DONE]')))).toEqual([time])
  })
})

describe('anthropic', () => {
  const block = open(0, { type: 'tool_use', ...clock, input: {} })

  test('a block that was announced and never closed does not run', async () => {
    expectWithheld(anthropic, await loop(anthropic, message([block], 'tool_use')), 1)
  })

  test('a block that was closed runs, also without arguments', async () => {
    expect(callsRun(await loop(anthropic, message([block, close(0)], 'tool_use')))).toEqual([time])
  })

  test('a whole call of an answer that was refused does not run', async () => {
    const called = [
      open(0, { type: 'tool_use', id: 'call_1', name: 'get_weather', input: {} }),
      grow(0, { type: 'input_json_delta', partial_json: oslo.args }),
      close(0),
    ]
    expectWithheld(anthropic, await loop(anthropic, message(called, 'refusal')), 1)
  })

  test('a second message in one answer is an error, not more of the first', async () => {
    const events = namedSse(
      messageStart(),
      open(0, { type: 'text', text: 'One.' }),
      close(0),
      messageStart({ input_tokens: 10 }, 'msg_2'),
      open(0, { type: 'text', text: 'Two.' }),
      close(0),
      ...messageEnd('end_turn'),
    )
    const outcome = await once(anthropic, events)
    expect(modelError(outcome)).toMatchObject({ code: 'second_message', retryable: true })
    expect(outcome.result.output).toBe('One.')
  })
})

describe('cohere', () => {
  const start = coherePiece('tool-call-start', 0, { ...clock, args: '' })

  test('a call that was never ended does not run', async () => {
    const events = sse(cohereStart, start, cohereEnd('TOOL_CALL'))
    expectWithheld(cohere, await loop(cohere, events), 1)
  })

  test('a call that was ended runs, also without arguments', async () => {
    const events = sse(cohereStart, start, { type: 'tool-call-end', index: 0 }, cohereEnd('TOOL_CALL'))
    expect(callsRun(await loop(cohere, events))).toEqual([time])
  })
})

describe('openai-responses', () => {
  const announced: JsonObject = {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...callItem({ ...clock, args: '' }, 'fc_0'), status: 'in_progress' },
  }

  test('an item that was announced and never done does not run, and the chain of responses is broken', async () => {
    const outcome = await loop(responses, namedSse(...created(), announced, completed()))
    expectWithheld(responses, outcome, 1)
    // The provider does not know the call: only the whole history makes sense to it.
    expect(outcome.bodies[1]).not.toHaveProperty('previous_response_id')
  })

  test('an item that the end lists is done', async () => {
    const listed = callItem({ ...clock, args: '' }, 'fc_0')
    const outcome = await loop(responses, namedSse(...created(), announced, completed([listed])))
    expect(callsRun(outcome)).toEqual([time])
  })
})

describe('google', () => {
  test('a leaf that said it would continue and never did is half a text', async () => {
    const begun = { jsonPath: '$.city', stringValue: 'Os', willContinue: true }
    const outcome = await loop(
      google,
      sse(
        googleChunk([{ functionCall: { name: 'get_weather', willContinue: true } }]),
        googleChunk([{ functionCall: { partialArgs: [begun] } }]),
        googleChunk([{ text: '' }], 'STOP'),
      ),
    )
    expectWithheld(google, outcome, 1)
  })

  test.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'])(
    'a call before %s does not run',
    async (word) => {
      const call = functionCall({ name: 'get_weather', args: { city: 'Oslo' } })
      expectWithheld(google, await loop(google, sse(googleChunk([call]), googleChunk([], word))), 1)
    },
  )
})
