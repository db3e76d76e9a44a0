import { expect } from 'vitest'
import { type ChatResult, ModelError } from '../../src/index.ts'
import { hostileAgent, modelError, run } from './hostileRun.ts'
import type { Answer, Ending } from './hostileServer.ts'
import { answer, halves, type Wire } from './wire.ts'

// One clean answer with a text and two calls, cut off somewhere.

export const words = 'Let me look.'
export const turn = {
  text: words,
  calls: [
    { id: 'call_1', name: 'get_weather', args: '{"city":"Oslo"}' },
    { id: 'call_2', name: 'get_time', args: '{}' },
  ],
}

/** The part of a text that the sent events hold. */
export const textSent = (events: string, text: string): string =>
  halves(text)
    .filter((half) => events.includes(`"${half}"`))
    .join('')

/** A stream must end exactly once: with its last chunk, or with an error and no last chunk. */
export const streamed = async (wire: Wire, answers: Answer[]) => {
  const { agent, server, ran } = await hostileAgent(wire, answers)
  const chunks: ChatResult[] = []
  let error: unknown
  try {
    for await (const each of agent.sendStream('How is the weather?')) chunks.push(each)
  } catch (thrown) {
    error = thrown
  }
  const finals = chunks.filter(({ finishReason }) => finishReason !== 'unspecified')
  return { text: chunks.map(({ output }) => output).join(''), finals, error, ran, server }
}

/** Cut before its end: no tool runs, the text so far is kept, and the run ends once, with a typed error. */
export const cutAfter = async (wire: Wire, count: number, ending: Ending): Promise<void> => {
  const events = wire.events(turn).slice(0, count)
  const text = textSent(events.join(''), words)
  const outcome = await run(wire, [answer(wire, events, ending)])

  const error = modelError(outcome)
  expect(error.retryable).toBe(true)
  expect(error.code).toMatch(ending === 'clean' ? /^truncated$/ : /^UND_ERR_SOCKET$/)
  expect(outcome.ran).toEqual([])
  expect(outcome.bodies).toHaveLength(1)
  expect(outcome.result.output).toBe(text)
  expect(outcome.result.finishReason).toBe('error')

  const stream = await streamed(wire, [answer(wire, events, ending)])
  expect(stream.text).toBe(text)
  expect(stream.error).toBeInstanceOf(ModelError)
  expect(stream.finals).toEqual([])
  expect(stream.ran).toEqual([])
  expect(stream.server.requests).toHaveLength(1)
}

/** Cut just after its text, by an end that looks clean. */
export const cutAfterText = (wire: Wire): Promise<void> => {
  const last = wire.events(turn).findLastIndex((event) => event.includes(halves(words)[1] ?? ''))
  return cutAfter(wire, last + 1, 'clean')
}
