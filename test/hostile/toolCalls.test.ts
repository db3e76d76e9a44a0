import { describe, expect, test } from 'vitest'
import { tool } from '../../src/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { callChunk, chunk, mistral, openai, usageChunk } from './chatWire.ts'
import {
  callsRun,
  farewell,
  lastTurn,
  loop,
  modelError,
  once,
  run,
  time,
  weather,
  wires,
} from './hostileRun.ts'
import { google, ollama } from './otherWires.ts'
import { responses } from './responsesWire.ts'
import { cutArguments, diesInCall, unknownTool } from './turnHabits.ts'
import { answer, halves, sse, type Wire } from './wire.ts'

// Whole tool calls, good and bad, on all seven wires: what runs, what is refused, and what the next request says of
// it. Rows 12 to 18, 21 and 23 of the list of wire failures.
// Not for us: 22 (a call written as XML inside text is text: guessing at it would run what was not asked for), and the
// opt-out of 24 (we always ask for a stream; for servers that do not give one see notStreamed.test.ts).

const oslo = { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }
const rome = { id: 'call_2', name: 'get_weather', args: '{"city":"Rome"}' }
const clock = { id: 'call_2', name: 'get_time', args: '{}' }
const cut = { ...oslo, args: '{"city":"Osl' }

describe.each(wires)('$model', (wire) => {
  /** The ids of the calls as this wire's history knows them; Gemini 2 goes by order. */
  const sentIds = (...ids: string[]) => (wire === google ? ids.map(() => '') : ids)
  const results = (body = {}) => wire.sentResults(body)

  test('clean: runs the calls, sends their results back under their ids, gives the final text once', async () => {
    const outcome = await loop(wire, { text: 'Let me look.', calls: [oslo, clock] })

    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
    expect(outcome.ran.map(({ id }) => id)).toEqual(['call_1', 'call_2'])
    expect(results(outcome.bodies[1])).toEqual([
      { id: sentIds('call_1')[0], text: '{"city":"Oslo","celsius":21}' },
      { id: sentIds('call_2')[0], text: wire === google ? '{"result":"12:00"}' : '12:00' },
    ])
    expect(outcome.result).toMatchObject({ output: `Let me look.\n${farewell}`, finishReason: 'stop' })
    expect(outcome.result.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 })
    expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
  })

  test.each(['no_id', 'empty_id', 'null_id'])(
    '%s: both calls run under ids that are made up',
    async (name) => {
      const anonymous = ({ id: _, ...call }: typeof oslo) =>
        name === 'no_id' ? call : { ...call, id: name === 'empty_id' ? '' : null }
      const outcome = await loop(wire, { calls: [anonymous(oslo), anonymous(rome)] })

      expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
      const ids = outcome.ran.map(({ id }) => id)
      expect(new Set(ids).size).toBe(2)
      expect(results(outcome.bodies[1])).toHaveLength(2)
      expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
    },
  )

  test('dup_id: two calls under one id both run, each with a result of its own', async () => {
    const outcome = await loop(wire, { calls: [oslo, { ...rome, id: oslo.id }] })

    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
    expect(outcome.ran[0]?.id).toBe('call_1')
    expect(outcome.ran[1]?.id).not.toBe('call_1')
    expect(results(outcome.bodies[1]).map(({ text }) => text)).toEqual([
      '{"city":"Oslo","celsius":21}',
      '{"city":"Rome","celsius":21}',
    ])
  })

  test('id_again: an id of an earlier turn is renamed in the history', async () => {
    const first = answer(wire, wire.events({ calls: [oslo] }))
    const second = answer(wire, wire.events({ calls: [{ ...rome, id: oslo.id }] }))
    const outcome = await run(wire, [first, second, lastTurn(wire)], { reusesIds: true })

    expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
    const last = results(outcome.bodies[2]).at(-1)
    expect(last?.text).toBe('{"city":"Rome","celsius":21}')
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test.each([
    ['tool_calls', wire.words.toolCalls],
    ['length', wire.words.length],
  ])('cut_args + %s: half a call never runs; the model learns it and nothing broken is sent', (_, finish) =>
    cutArguments(wire, finish),
  )

  test.each([
    ['glued_objects', '{"city":"Oslo"}{"city":"Rome"}'],
    ['early_parse', '{"city":"Oslo"},"country":"Norway"}'],
    ['array', '["Oslo"]'],
    ['number', '5'],
    ['text', '"Oslo"'],
  ])('%s: arguments that are not one object are refused and go back as {}', async (_, args) => {
    const outcome = await loop(wire, { calls: [{ ...oslo, args }] })

    expect(outcome.ran).toEqual([])
    expect(results(outcome.bodies[1])[0]?.text).toMatch(/"error"/)
    for (const call of wire.sentCalls(outcome.bodies[1] ?? {})) expect(call.args).toEqual({})
    expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  })

  test('quarantine: a refused call stays harmless in every later request', async () => {
    const first = await loop(wire, { calls: [cut] })
    const later = await run(wire, [lastTurn(wire)], { history: first.result.messages, prompt: 'And now?' })

    expect(later.error).toBeUndefined()
    for (const call of wire.sentCalls(later.bodies[0] ?? {})) expect(call.args).toEqual({})
    expect(JSON.stringify(later.bodies[0])).not.toContain('Osl\\')
  })

  test('cut_then_next: what a broken stream leaves behind can be sent on', async () => {
    const events = wire.events({ text: 'Let me look.', calls: [oslo, clock] })
    const first = await run(wire, [answer(wire, events.slice(0, -wire.endMarks), 'destroy')])
    expect(modelError(first).retryable).toBe(true)
    expect(first.ran).toEqual([])
    const later = await run(wire, [lastTurn(wire)], { history: first.result.messages, prompt: 'Again?' })

    expect(later.error).toBeUndefined()
    expect(later.result.output).toBe(farewell)
    for (const { text } of results(later.bodies[0])) expect(text).toContain('was not run')
  })

  test('unknown_tool: the model learns which tools there are', () => unknownTool(wire))

  test('wrong_args: arguments that do not fit the schema are refused', async () => {
    const outcome = await loop(wire, { calls: [{ ...oslo, args: '{"town":"Oslo"}' }] })

    expect(outcome.ran).toEqual([])
    expect(results(outcome.bodies[1])[0]?.text).toMatch(/"error".*city/)
    expect(outcome.result.output).toBe(farewell)
  })

  test('tool_error: a result without an error flag says in its text that it is an error', async () => {
    const broken = tool({
      name: 'get_weather',
      description: 'Breaks',
      execute: () => {
        throw new Error('the station is down')
      },
    })
    const outcome = await loop(wire, { calls: [oslo] }, { tools: [broken] })

    expect(results(outcome.bodies[1])[0]?.text).toContain('"error":"the station is down"')
    if (wire.model.startsWith('anthropic'))
      expect(JSON.stringify(outcome.bodies[1])).toContain('"is_error":true')
  })

  test.each(['null', ''])('args_none: a tool without arguments runs when they are "%s"', async (args) => {
    const outcome = await loop(wire, { calls: [{ ...clock, args }] })

    expect(callsRun(outcome)).toEqual([time])
  })

  test('args_missing: a tool without arguments runs when they are not there at all', async () => {
    const outcome = await loop(wire, { calls: [{ id: 'call_1', name: 'get_time' }] })

    expect(callsRun(outcome)).toEqual([time])
    for (const call of wire.sentCalls(outcome.bodies[1] ?? {})) expect(call.args).toEqual({})
  })

  test('big_call: a stream that dies inside a large call is an error, not an empty call', () =>
    diesInCall(wire))
})

/** Gemini and Ollama send a call at once; Responses says whether an item is complete. */
const streamingWires = wires.filter((wire) => ![google, ollama, responses].includes(wire))

describe.each(streamingWires)('$model', (wire: Wire) => {
  test('cut_before_args: a call cut before its arguments is not a call without arguments', async () => {
    const calls = [
      { ...clock, id: 'call_1', args: '' },
      { ...clock, args: '' },
    ]
    const outcome = await loop(wire, { calls, finish: wire.words.length })

    expect(outcome.ran.map(({ id }) => id)).toEqual(['call_1'])
    expect(wire.sentResults(outcome.bodies[1] ?? {})[1]?.text).toMatch(/"error".*cut off/)
  })
})

describe.each([openai, mistral])('$model', (wire) => {
  test('no_choices_last: calls run although the last chunk has no choices', async () => {
    const events = sse(
      callChunk({ index: 0, ...oslo }),
      chunk({}, 'tool_calls'),
      usageChunk,
      usageChunk,
      '[DONE]',
    )
    const outcome = await loop(wire, events)

    expect(callsRun(outcome)).toEqual([weather('Oslo')])
  })

  test('parsed_early_then_error: a call that was already whole does not run when an error follows', async () => {
    const pieces = halves(oslo.args).map((args, at) => callChunk({ index: 0, ...(at === 0 && oslo), args }))
    const outcome = await once(wire, sse(...pieces, { error: { message: 'overloaded', code: 503 } }))

    expect(modelError(outcome)).toMatchObject({ message: 'overloaded', status: 503, retryable: true })
    expect(outcome.ran).toEqual([])
    const [reported] = outcome.result.messages.flatMap(toolResultsOf)
    expect(reported?.result).toContain('was not run')
  })
})
