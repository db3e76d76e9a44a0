import { type Arbitrary, assert, constantFrom, option, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { google } from '../../providers/google/index.ts'
import { ollama } from '../../providers/ollama/index.ts'
import type { Protocol } from '../../providers/wire/protocol.ts'
import { plainProfile } from './openai-chat/plainProfile.ts'

// Chunks with text alone take the fast path. A field that is not known sends them the slow way, on each level
// that has one: both must say the same, whatever else is there.

const maybe = <T>(...values: T[]) => option(constantFrom(...values), { nil: undefined })

const geminiChunks = record({
  responseId: maybe('r1'),
  usage: maybe<unknown>({ promptTokenCount: 3, totalTokenCount: 'x' }, {}, null),
  promptFeedback: maybe({ blockReason: 'SAFETY' }),
  finishReason: maybe('STOP', ''),
  index: maybe<unknown>(0, 1, null),
  safetyRatings: maybe<unknown>([{ blocked: true }]),
  text: option(string(), { nil: undefined }),
  thought: maybe(true),
  thoughtSignature: maybe('sig', ''),
  functionCall: maybe({ name: 'f', args: {} }),
  inlineData: maybe({ data: 'aa', mimeType: 'image/png' }),
})

const geminiChunk =
  ({
    responseId,
    usage,
    promptFeedback,
    finishReason,
    index,
    safetyRatings,
    ...part
  }: object & Record<string, unknown>) =>
  (unknown: object) => ({
    responseId,
    usageMetadata: usage,
    promptFeedback,
    candidates: [
      { content: { parts: [{ ...part, ...unknown }] }, finishReason, index, safetyRatings, ...unknown },
    ],
  })

const ollamaLines = record({
  message: maybe<unknown>({ content: 'a' }, { content: '', thinking: 'b' }, 'out of memory', {}),
  error: maybe<unknown>('no', null, { message: 'no' }),
  done: maybe<unknown>(true, false),
  done_reason: maybe('stop'),
  status: maybe<unknown>(500),
})

const isSame = <T extends object>(
  protocol: Pick<Protocol<typeof plainProfile>, 'decoder'>,
  inputs: Arbitrary<T>,
  eventOf: (input: T) => (unknown: object) => object,
) =>
  assert(
    property(inputs, inputs, (...both) => {
      const read = (unknown: object) => {
        const decoder = protocol.decoder({ provider: 'acme', model: 'm1', profile: plainProfile })
        const deltas = both.flatMap((input) => [
          ...decoder.push({ data: JSON.stringify(eventOf(input)(unknown)) }),
        ])
        return JSON.stringify([...deltas, ...decoder.end()])
      }
      expect(read({ unknown_field: 1 }).replaceAll(/,?"unknown_field":1/g, '')).toBe(read({}))
    }),
    { numRuns: 1000 },
  )

test('google: says the same of a chunk whether or not it takes the short way', () => {
  isSame(google, geminiChunks, geminiChunk)
})

test('ollama: says the same of a line whether or not it takes the short way', () => {
  isSame(ollama, ollamaLines, (line) => (unknown) => ({ ...line, ...unknown }))
})
