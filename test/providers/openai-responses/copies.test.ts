import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/messages/json.ts'
import {
  added,
  completed,
  created,
  decode,
  done,
  finish,
  kept,
  messageItem,
  metadata,
  reasoningItem,
  textDelta,
  textIn,
  thinkingIn,
} from './responsesFixtures.ts'

// The wire repeats what it sends: piece by piece, as a part, as an item, and in the list at the end.

describe('the text of an answer', () => {
  const part = { type: 'output_text', text: 'Hello', annotations: [] }
  const whole = (id: string, text: string): JsonObject => ({
    type: 'response.output_item.done',
    item: messageItem(text, { id }),
  })
  const unplaced = { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Hi' }
  it.each<[string, JsonObject[], string]>([
    [
      'is never doubled by the done events and the list at the end',
      [
        added(0, messageItem('', { content: [] })),
        textDelta(0, 'Hel'),
        textDelta(0, 'lo'),
        { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hello' },
        { type: 'response.content_part.done', output_index: 0, content_index: 0, part },
        done(0, messageItem('Hello')),
        completed({ output: [messageItem('Hello')] }),
      ],
      'Hello',
    ],
    [
      'stays as it was streamed when the whole says more',
      [textDelta(0, 'Got it'), done(0, messageItem('Got it, and more')), completed()],
      'Got it',
    ],
    [
      'keeps its place when item ids rotate with every event',
      [
        added(0, messageItem('', { id: 'b', content: [] })),
        textDelta(0, 'x', { item_id: 'c' }),
        textDelta(0, 'y', { item_id: 'd' }),
        { type: 'response.output_text.done', output_index: 0, content_index: 0, item_id: 'e', text: 'xy' },
        done(0, messageItem('xy', { id: 'f' })),
        completed({ id: 'g', output: [messageItem('xy', { id: 'h' })] }),
      ],
      'xy',
    ],
    [
      'is not doubled when positions in the final list are not output indexes and ids were renewed',
      [
        textDelta(0, 'one'),
        textDelta(2, 'two'),
        completed({ output: [messageItem('one', { id: 'r1' }), messageItem('two', { id: 'r2' })] }),
      ],
      'onetwo',
    ],
    [
      'is paired with the final list by id before it is paired by order',
      [
        textDelta(1, 'two', { item_id: 'msg_2' }),
        completed({ output: [messageItem('one', { id: 'msg_1' }), messageItem('two', { id: 'msg_2' })] }),
      ],
      'twoone',
    ],
    [
      'of two messages is kept when a server numbers both 0 and sends only wholes',
      [
        done(0, messageItem('one', { id: 'msg_1' })),
        done(0, messageItem('two', { id: 'msg_2' })),
        completed(),
      ],
      'onetwo',
    ],
    [
      'of two messages is kept when their wholes have no number at all',
      [whole('msg_1', 'one'), whole('msg_2', 'two'), completed()],
      'onetwo',
    ],
    [
      'needs neither an output index nor an announcement',
      [unplaced, unplaced, done(0, messageItem('HiHi')), completed()],
      'HiHi',
    ],
  ])('%s', (_, events, expected) => {
    expect(textIn(decode(created(), ...events))).toBe(expected)
  })

  it('is taken from whichever whole comes first when a server sends no deltas', () => {
    const part = { type: 'output_text', text: 'Hello', annotations: [] }
    const wholes = [
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Hello' },
      { type: 'response.content_part.done', output_index: 0, content_index: 0, part },
      done(0, messageItem('Hello')),
      completed({ output: [messageItem('Hello')] }),
    ]
    for (let missing = 0; missing < wholes.length; missing += 1) {
      expect(textIn(decode(created(), ...wholes.slice(missing, -1), completed()))).toBe(
        missing < 3 ? 'Hello' : '',
      )
      expect(textIn(decode(created(), ...wholes.slice(missing)))).toBe('Hello')
    }
  })
})

describe('the thinking of an answer', () => {
  it('comes from summaries and from raw reasoning, once each, a paragraph for each part', () => {
    const deltas = decode(
      created(),
      { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Sum' },
      { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, text: 'Sum' },
      { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 1, text: 'mary' },
      { type: 'response.reasoning_text.delta', output_index: 1, content_index: 0, delta: ' raw' },
      done(0, reasoningItem('rs_1', null, 'Summary')),
      done(1, {
        type: 'reasoning',
        id: 'rs_2',
        summary: [],
        content: [{ type: 'reasoning_text', text: ' raw' }],
      }),
      completed(),
    )
    expect(thinkingIn(deltas)).toBe('Sum\n\nmary\n\n raw')
  })

  it('may continue after the text of a later item has begun', () => {
    const thinking = (delta: string) => ({ type: 'response.reasoning_text.delta', output_index: 0, delta })
    const deltas = decode(created(), thinking('a'), textDelta(1, '4'), thinking('b'), completed())
    expect([textIn(deltas), thinkingIn(deltas)]).toEqual(['4', 'ab'])
  })
})

it('a refusal is reported once, also where it was streamed and comes again as a whole', () => {
  const refusal = 'I cannot help.'
  const item = messageItem('', { content: [{ type: 'refusal', refusal }] })
  const streamed = [
    { type: 'response.refusal.delta', output_index: 0, content_index: 0, delta: 'I cannot' },
    { type: 'response.refusal.delta', output_index: 0, content_index: 0, delta: ' help.' },
  ]
  for (const events of [streamed, []]) {
    const deltas = decode(created(), ...events, done(0, item), completed({ output: [item] }))
    expect(textIn(deltas)).toBe('')
    expect(deltas.slice(-3)).toEqual([metadata({ refusal }), kept(), finish('contentFilter')])
  }
})
