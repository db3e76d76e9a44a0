import { expect } from 'vitest'
import { toolCallsOf, toolResultsOf } from '../../src/messages/messages.ts'
import { callsRun, farewell, loop, modelError, once, run, time, weather } from './hostileRun.ts'
import { answer, type Wire } from './wire.ts'

// What may be odd about a whole turn on any wire: its calls, its end, and both together.

const oslo = { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' }
const clock = { id: 'call_2', name: 'get_time', args: '{}' }
const cut = { ...oslo, args: '{"city":"Osl' }

/** Calls that are there run, whatever the provider's word for the end. */
export const callsRunWhatever = async (wire: Wire, finish: string): Promise<void> => {
  const outcome = await loop(wire, { calls: [oslo, clock], finish })

  expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
  expect(wire.sentResults(outcome.bodies[1] ?? {})).toHaveLength(2)
  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
}

/** A plain answer that is called a tool call is a plain answer. */
export const toolWordWithoutCall = async (wire: Wire): Promise<void> => {
  const outcome = await once(wire, { text: farewell, finish: wire.words.toolCalls })

  expect(outcome.bodies).toHaveLength(1)
  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
}

/** An answer with a word that is not known is an answer. */
export const unknownWord = async (wire: Wire): Promise<void> => {
  const outcome = await once(wire, { text: farewell, finish: 'whatever_comes_next' })

  expect(outcome.error).toBeUndefined()
  expect(outcome.result.output).toBe(farewell)
  expect(outcome.result.finishReason).toBe('unspecified')
  expect(outcome.result.rawFinishReason).toBe('whatever_comes_next')
}

/** Half a call never runs; the model learns it and nothing broken is sent. */
export const cutArguments = async (wire: Wire, finish: string): Promise<void> => {
  const outcome = await loop(wire, { calls: [cut, clock], finish })

  expect(callsRun(outcome)).toEqual([time])
  expect(wire.sentResults(outcome.bodies[1] ?? {})[0]?.text).toMatch(/"error".*(not valid JSON|cut off)/)
  expect(JSON.stringify(outcome.bodies[1])).not.toContain('Osl\\')
  expect(toolResultsOf(outcome.result.messages[2] ?? { role: 'user', parts: [] })[0]?.isError).toBe(true)
  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
}

/** The model learns which tools there are. */
export const unknownTool = async (wire: Wire): Promise<void> => {
  const outcome = await loop(wire, { calls: [{ ...oslo, name: 'get_wether' }, clock] })

  expect(callsRun(outcome)).toEqual([time])
  const [reported] = wire.sentResults(outcome.bodies[1] ?? {})
  expect(reported?.text).toContain('get_wether')
  expect(reported?.text).toContain('Available tools: get_weather, get_time')
  expect(outcome.result.output).toBe(farewell)
}

/** A stream that dies inside a large call is an error, not an empty call. */
export const diesInCall = async (wire: Wire): Promise<void> => {
  const args = JSON.stringify({ city: 'x'.repeat(200_000) })
  const events = wire.events({ text: 'Writing.', calls: [{ ...oslo, args }] })
  const whole = events.join('')
  const half = whole.slice(0, whole.indexOf('xxx') + 50_000)
  const outcome = await run(wire, [answer(wire, [half])])

  expect(modelError(outcome)).toMatchObject({ code: 'truncated', retryable: true })
  expect(outcome.ran).toEqual([])
  expect(outcome.result.output).toBe('Writing.')
  expect(outcome.result.messages.flatMap(toolCallsOf)).toEqual([])
}
