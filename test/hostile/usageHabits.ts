import { expect } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { chunk } from './chatWire.ts'
import { farewell, once } from './hostileRun.ts'
import { sse, type Wire } from './wire.ts'

// Where Chat Completions servers put their token counts.

const counts = (input: number, output: number): JsonObject => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
})
export const expected = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
export const usage = counts(10, 5)
export const { choices: _, ...bare } = chunk({})
export const text = chunk({ content: farewell })
export const stop = chunk({}, 'stop')

export const usageHabits: [string, string[]][] = [
  ['no_choices: beside an empty list of choices', sse(text, stop, { ...bare, choices: [], usage }, '[DONE]')],
  [
    'choices_null: beside choices that are null',
    sse(text, stop, { ...bare, choices: null, usage }, '[DONE]'),
  ],
  ['choices_missing: beside no choices at all', sse(text, stop, { ...bare, usage }, '[DONE]')],
  ['first_chunk: before anything else', sse({ ...bare, choices: [], usage }, text, stop, '[DONE]')],
  ['with_finish: on the chunk with the finish reason', sse(text, { ...stop, usage }, '[DONE]')],
  [
    'every_chunk: on every chunk, where the last count is the true one',
    sse(
      { ...text, usage: counts(10, 1) },
      { ...chunk({ content: '' }), usage: counts(10, 3) },
      { ...stop, usage },
      '[DONE]',
    ),
  ],
  [
    'then_empty: on the last chunk but one, with an empty one after it',
    sse(text, stop, { ...bare, choices: [], usage }, { ...bare, choices: [] }, '[DONE]'),
  ],
  [
    'then_null: where later chunks say that it is null',
    sse(text, { ...stop, usage }, { ...bare, choices: [], usage: null }, '[DONE]'),
  ],
  ['no_done: on the last chunk of a stream without [DONE]', sse(text, stop, { ...bare, choices: [], usage })],
]

/** The counts are taken once, and the answer is whole. */
export const expectCounts = async (wire: Wire, events: readonly string[]): Promise<void> => {
  const outcome = await once(wire, events)

  expect(outcome.error).toBeUndefined()
  expect(outcome.result).toMatchObject({ output: farewell, finishReason: 'stop' })
  expect(outcome.result.usage).toEqual(expected)
}
