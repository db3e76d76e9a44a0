import { describe, expect, it } from 'vitest'
import { containerAt, rebuild, skeletonAt } from '../../../providers/anthropic/replay.ts'
import type { JsonValue } from '../../../src/messages/json.ts'
import type { ChatMessage, Part } from '../../../src/messages/messages.ts'

const text: Part = { type: 'text', text: 'Hello' }
const call = (id: string, more: object = {}): Part => ({
  type: 'toolCall',
  id,
  name: 'one',
  arguments: { m: 1 },
  ...more,
})
const message = (...parts: Part[]): ChatMessage => ({ role: 'model', parts })
const thought = { type: 'thinking', thinking: 'Hm', signature: 's' }
const used = (id: string, input: object = { m: 1 }) => ({ type: 'tool_use', id, name: 'one', input })

describe('an answer is sent back as it came', () => {
  const rows: [string, ChatMessage, JsonValue[], object[] | undefined][] = [
    ['nothing at all', message(), [], []],
    [
      'blocks, pieces of the text and calls in their order, with their fields',
      message(text, call('a'), call('b')),
      [{ call: 0, caller: 'x' }, thought, { text: 2 }, { call: 1 }, { text: 3, citations: [1] }],
      [
        { caller: 'x', ...used('wire-a') },
        thought,
        { type: 'text', text: 'He' },
        used('wire-b'),
        { citations: [1], type: 'text', text: 'llo' },
      ],
    ],
    [
      'arguments that could not be used are left out',
      message(call('a', { argumentsError: 'Cut.' })),
      [{ call: 0 }],
      [used('wire-a', {})],
    ],
    // All of these were edited since.
    ['text is left over', message(text), [{ text: 4 }], undefined],
    ['text is missing', message(text), [{ text: 6 }], undefined],
    ['a call is left over', message(text, call('a')), [{ text: 5 }], undefined],
    ['a call is missing', message(text), [{ text: 5 }, { call: 0 }], undefined],
    ['calls changed places', message(call('a'), call('b')), [{ call: 1 }, { call: 0 }], undefined],
    ['a call comes twice', message(call('a')), [{ call: 0 }, { call: 0 }], undefined],
    ['an entry is not one', message(text), [null, { text: 5 }], undefined],
    ['an entry is of an unknown kind', message(text, call('a')), [{ text: 5 }, { part: 0 }], undefined],
    [
      'another part was added',
      message(text, { type: 'link', url: 'https://x.test' }),
      [{ text: 5 }],
      undefined,
    ],
  ]
  it.each(rows)('%s', (_, from, skeleton, blocks) => {
    expect(rebuild(from, skeleton, (id) => `wire-${id}`)).toStrictEqual(blocks)
  })
})

it('what is stored of it may be anything', () => {
  expect([skeletonAt({ blocks: [1] }), skeletonAt({ blocks: 'x' }), skeletonAt({})]).toEqual([[1], [], []])
  expect([containerAt({ container: 'c' }), containerAt({ container: 7 }), containerAt(undefined)]).toEqual([
    'c',
    undefined,
    undefined,
  ])
})
