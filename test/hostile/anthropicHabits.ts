import { expect } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import {
  anthropic,
  close,
  grow,
  message,
  messageEnd,
  messageStart,
  open,
  textBlock,
  toolBlock,
} from './anthropicWire.ts'
import { callsRun, farewell, lastTurn, loop, type Outcome, once, run, weather } from './hostileRun.ts'
import { answer, namedSse, objects } from './wire.ts'

// What Anthropic's own wire has that others do not.

export const oslo = { id: 'toolu_1', name: 'get_weather', args: '{"city":"Oslo"}' }
export const piece = (partial_json: string): JsonObject => ({ type: 'input_json_delta', partial_json })
export const toolUse = (id: string, name: string, input: JsonObject | null = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input,
})

/** The blocks of the assistant's first message in a request. */
export const replayed = (body: JsonObject | undefined): JsonObject[] =>
  objects(objects(body?.messages).find(({ role }) => role === 'assistant')?.content)

export const expectTheAnswer = (outcome: Outcome): void => {
  expect(outcome.error).toBeUndefined()
  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
}

/** Two calls that are open at once each get their own input. */
export const interleavedBlocks = async (): Promise<void> => {
  const blocks = [
    open(0, toolUse('toolu_1', 'get_weather')),
    open(1, toolUse('toolu_2', 'get_weather')),
    grow(1, piece('{"city":')),
    grow(0, piece('{"city":"O')),
    grow(1, piece('"Rome"}')),
    grow(0, piece('slo"}')),
    close(1),
    close(0),
  ]
  const outcome = await loop(anthropic, message(blocks, 'tool_use'))

  expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
  expect(anthropic.sentResults(outcome.bodies[1] ?? {}).map(({ id }) => id)).toEqual(['toolu_1', 'toolu_2'])
  expectTheAnswer(outcome)
}

/** Input that comes with the block, without deltas, is the input. */
export const wholeInput = async (): Promise<void> => {
  const blocks = [open(0, toolUse('toolu_1', 'get_weather', { city: 'Oslo' })), close(0)]
  const outcome = await loop(anthropic, message(blocks, 'tool_use'))

  expect(callsRun(outcome)).toEqual([weather('Oslo')])
  expect(replayed(outcome.bodies[1])).toEqual([toolUse('toolu_1', 'get_weather', { city: 'Oslo' })])
}

export const signature = 'EqQBCgIYAhIM+/=='
export const thinking = (text: string): JsonObject => ({ type: 'thinking', thinking: text, signature })
export const thinkingEvents = (index: number, text: string): JsonObject[] => [
  open(index, { type: 'thinking', thinking: '', signature: '' }),
  ...(text === '' ? [] : [grow(index, { type: 'thinking_delta', thinking: text })]),
  grow(index, { type: 'signature_delta', signature }),
  close(index),
]
const redacted = { type: 'redacted_thinking', data: 'EmwKAhgB/+==' }

export const signedHabits: [string, JsonObject[], JsonObject[]][] = [
  ['signature: thinking', thinkingEvents(0, 'Where is Oslo? 🤔'), [thinking('Where is Oslo? 🤔')]],
  ['omitted_thinking: a signature without any thinking', thinkingEvents(0, ''), [thinking('')]],
  ['redacted_thinking: a redacted block', [open(0, redacted), close(0)], [redacted]],
]

/** A signed block goes back byte for byte, where it was. */
export const goesBackAsItCame = async (events: JsonObject[], blocks: JsonObject[]): Promise<void> => {
  const first = message([...events, ...textBlock(1, 'Let me look.'), ...toolBlock(2, oslo)], 'tool_use')
  const outcome = await loop(anthropic, first)
  const expected = [
    ...blocks,
    { type: 'text', text: 'Let me look.' },
    toolUse('toolu_1', 'get_weather', { city: 'Oslo' }),
  ]

  expect(callsRun(outcome)).toEqual([weather('Oslo')])
  expect(replayed(outcome.bodies[1])).toEqual(expected)
  expect(outcome.result.output).toBe(`Let me look.\n${farewell}`)

  const stored = JSON.parse(JSON.stringify(outcome.result.messages))
  const later = await run(anthropic, [lastTurn(anthropic)], { history: stored, prompt: 'And Rome?' })
  expect(replayed(later.bodies[0])).toEqual(expected)
}

const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'Oslo' } }
const searching = [
  open(0, { ...search, input: {} }),
  grow(0, piece('{"query":')),
  grow(0, piece('"Oslo"}')),
  close(0),
]
export const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
export const paused = answer(anthropic, message([...searching, ...textBlock(1, 'Searching…')], 'pause_turn'))

/** The turn goes back unchanged, and goes on as one answer. */
export const pauseTurn = async (): Promise<void> => {
  const resumed = message([open(0, found), close(0), ...textBlock(1, farewell)], 'end_turn')
  const outcome = await run(anthropic, [paused, answer(anthropic, resumed)])

  expect(outcome.bodies).toHaveLength(2)
  expect(objects(outcome.bodies[1]?.messages).map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(replayed(outcome.bodies[1])).toEqual([search, { type: 'text', text: 'Searching…' }])
  expect(outcome.result).toMatchObject({ output: `Searching…${farewell}`, finishReason: 'stop' })
  expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model'])

  const later = await run(anthropic, [lastTurn(anthropic)], {
    history: outcome.result.messages,
    prompt: 'And?',
  })
  expect(replayed(later.bodies[0])).toEqual([
    search,
    { type: 'text', text: 'Searching…' },
    found,
    { type: 'text', text: farewell },
  ])
}

/** Pings and events, blocks and deltas of unknown types change nothing. */
export const unknownEverything = async (): Promise<void> => {
  const strange = { type: 'hologram', data: 'x' }
  const events = namedSse(
    { type: 'ping' },
    messageStart(),
    { type: 'weather_report', clouds: 3 },
    open(0, strange),
    grow(0, { type: 'hologram_delta', data: 'y' }),
    close(0),
    { type: 'ping' },
    open(1, { type: 'text', text: '' }),
    grow(1, { type: 'sparkle_delta', sparkle: true }),
    grow(1, { type: 'text_delta', text: farewell }),
    close(1),
    ...messageEnd('end_turn'),
  )
  const outcome = await once(anthropic, events)

  expectTheAnswer(outcome)
  expect(outcome.bodies).toHaveLength(1)
}

/** A refused answer is filtered content, not an error. */
export const refusal = async (): Promise<void> => {
  const outcome = await once(anthropic, message(textBlock(0, 'I'), 'refusal'))

  expect(outcome.error).toBeUndefined()
  expect(outcome.result).toMatchObject({
    output: 'I',
    finishReason: 'contentFilter',
    rawFinishReason: 'refusal',
  })
}
