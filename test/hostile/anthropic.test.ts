import { expect, test } from 'vitest'
import { toolCallsOf } from '../../src/messages/messages.ts'
import {
  expectTheAnswer,
  found,
  goesBackAsItCame,
  interleavedBlocks,
  oslo,
  paused,
  pauseTurn,
  piece,
  refusal,
  replayed,
  signature,
  signedHabits,
  thinking,
  thinkingEvents,
  toolUse,
  unknownEverything,
  wholeInput,
} from './anthropicHabits.ts'
import { anthropic, close, grow, message, open, toolBlock } from './anthropicWire.ts'
import { openai } from './chatWire.ts'
import { callsRun, farewell, lastTurn, loop, run, time, weather, wires } from './hostileRun.ts'
import { answer, objects } from './wire.ts'

// Anthropic's own wire: its matrix and rows 18, 59 to 66 of the list of wire failures. Errors, cuts and counts of this
// wire are with those of the others. Of row 64 the switch is not ours (eager input is asked for by the user, through
// providerOptions); what it may bring, input that is no JSON, is.

const rome = { id: 'toolu_2', name: 'get_weather', args: '{"city":"Rome"}' }

test('interleaved_blocks: two calls that are open at once each get their own input', interleavedBlocks)

test('whole_input: input that comes with the block, without deltas, is the input', wholeInput)

test('input_null: a call whose input is null goes back with an object', async () => {
  const blocks = [open(0, toolUse('toolu_1', 'get_time', null)), close(0)]
  const outcome = await loop(anthropic, message(blocks, 'tool_use'))

  expect(callsRun(outcome)).toEqual([time])
  expect(replayed(outcome.bodies[1])).toEqual([toolUse('toolu_1', 'get_time', {})])
})

test('invalid_input: input that is not JSON is refused, and the model learns so with the error flag', async () => {
  const blocks = [open(0, toolUse('toolu_1', 'get_weather')), grow(0, piece('{"city": Oslo')), close(0)]
  const outcome = await loop(anthropic, message(blocks, 'tool_use'))

  expect(outcome.ran).toEqual([])
  const results = objects(objects(outcome.bodies[1]?.messages).at(-1)?.content)
  expect(results).toEqual([
    {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      is_error: true,
      content: expect.stringContaining('not valid JSON'),
      cache_control: { type: 'ephemeral' },
    },
  ])
  expectTheAnswer(outcome)
})

test.each(signedHabits)('%s goes back byte for byte, where it was', (_, events, blocks) =>
  goesBackAsItCame(events, blocks),
)

test('interleaved_thinking: thinking between two calls goes back between them', async () => {
  const blocks = [
    ...thinkingEvents(0, 'a'),
    ...toolBlock(1, oslo),
    ...thinkingEvents(2, 'b'),
    ...toolBlock(3, rome),
  ]
  const outcome = await loop(anthropic, message(blocks, 'tool_use'))

  expect(callsRun(outcome)).toEqual([weather('Oslo'), weather('Rome')])
  expect(replayed(outcome.bodies[1]).map(({ type }) => type)).toEqual([
    'thinking',
    'tool_use',
    'thinking',
    'tool_use',
  ])
  expect(outcome.result.metadata.thinking).toBe('ab')
})

test('edited_thinking: what a person changes of the shown thinking does not change what goes back', async () => {
  const first = await loop(
    anthropic,
    message([...thinkingEvents(0, 'Hm.'), ...toolBlock(1, oslo)], 'tool_use'),
  )
  const history = first.result.messages.map((each) =>
    each.metadata ? { ...each, metadata: { ...each.metadata, thinking: '' } } : each,
  )
  const later = await run(anthropic, [lastTurn(anthropic)], { history, prompt: 'And Rome?' })

  expect(replayed(later.bodies[0])[0]).toEqual(thinking('Hm.'))
})

test.each(wires.filter((wire) => wire !== anthropic))(
  'foreign_signature: $model is never sent it',
  async (wire) => {
    const first = await loop(
      anthropic,
      message([...thinkingEvents(0, 'Hm.'), ...toolBlock(1, oslo)], 'tool_use'),
    )
    const later = await run(wire, [lastTurn(wire)], { history: first.result.messages, prompt: 'And Rome?' })

    expect(later.result.output).toBe(farewell)
    expect(JSON.stringify(later.bodies[0])).not.toContain(signature.slice(0, 8))
    expect(wire.sentResults(later.bodies[0] ?? {})).toHaveLength(1)
  },
)

test('pause_turn: the turn goes back unchanged, and goes on as one answer', pauseTurn)

test('pause_then_call: a call after the pause belongs to the same message', async () => {
  const resumed = message([open(0, found), close(0), ...toolBlock(1, oslo)], 'tool_use')
  const outcome = await run(anthropic, [paused, answer(anthropic, resumed), lastTurn(anthropic)])

  expect(callsRun(outcome)).toEqual([weather('Oslo')])
  expect(replayed(outcome.bodies[2]).map(({ type }) => type)).toEqual([
    'server_tool_use',
    'text',
    'web_search_tool_result',
    'tool_use',
  ])
  expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
})

test('pause_for_ever: pauses are bounded by the step limit, and what was written is kept', async () => {
  const outcome = await run(anthropic, [paused, paused, paused])

  expect(outcome.bodies).toHaveLength(3)
  expect(outcome.result.finishReason).toBe('maxSteps')
  expect(outcome.result.output).toBe('Searching…Searching…Searching…')
  expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model'])
})

test('cut_in_pause: a connection that dies after a pause loses nothing of what came before it', async () => {
  const outcome = await run(anthropic, [paused, answer(anthropic, [], 'destroy')])

  expect(outcome.error?.name).toBe('ModelError')
  expect(outcome.result.output).toBe('Searching…')
})

test('unknown: pings and events, blocks and deltas of unknown types change nothing', unknownEverything)

test('refusal: a refused answer is filtered content, not an error', refusal)

test('text_before_call: text in front of a call is not taken for the final answer', async () => {
  const outcome = await loop(anthropic, { text: 'It is sunny, I think.', calls: [oslo] })

  expect(callsRun(outcome)).toEqual([weather('Oslo')])
  expect(outcome.result.output).toBe(`It is sunny, I think.\n${farewell}`)
})

test('foreign_ids: ids of other providers that the API refuses are replaced, the same for call and result', async () => {
  const odd = { ...oslo, id: 'call:1/ä' }
  const first = await loop(openai, { calls: [odd, { ...rome, id: 'call:2/ä' }] })
  const later = await run(anthropic, [lastTurn(anthropic)], {
    history: first.result.messages,
    prompt: 'And?',
  })

  expect(first.result.messages.flatMap(toolCallsOf).map(({ id }) => id)).toEqual(['call:1/ä', 'call:2/ä'])
  for (const { id } of anthropic.sentCalls(later.bodies[0] ?? {})) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
})
