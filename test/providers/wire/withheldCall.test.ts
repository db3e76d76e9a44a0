import { expect, it } from 'vitest'
import { callDeltas, withheld } from '../../../providers/wire/decoder.ts'
import type { FinishReason } from '../../../src/messages/result.ts'

const call = { id: 'a', name: 'one', arguments: { m: 1 } }
const bad = { ...call, arguments: {}, argumentsRaw: '{"m"', argumentsError: 'Not JSON.' }

it('a call that is withheld keeps its arguments as text, and an older problem stays', () => {
  expect(withheld(call, 'Cut.')).toEqual({ ...call, argumentsRaw: '{"m":1}', argumentsError: 'Cut.' })
  expect(withheld({ ...call, argumentsRaw: '' }, 'Cut.')).toEqual({
    ...call,
    argumentsRaw: '',
    argumentsError: 'Cut.',
  })
  expect(withheld(bad, 'Cut.')).toEqual(bad)
})

const problems: [FinishReason, string | undefined][] = [
  ['stop', undefined],
  ['length', undefined],
  ['toolCalls', undefined],
  ['unspecified', undefined],
  ['contentFilter', 'stopped by a content filter'],
  ['error', 'ended the answer with an error'],
]

it.each(problems)('after the end "%s" calls are withheld because: %s', (reason, problem) => {
  expect(callDeltas([call, bad], reason)).toEqual([
    {
      type: 'toolCall',
      call:
        problem === undefined
          ? call
          : { ...call, argumentsRaw: '{"m":1}', argumentsError: expect.stringContaining(problem) },
    },
    { type: 'toolCall', call: bad },
  ])
})
