import { describe, expect, it } from 'vitest'
import { callsWithoutId, PartRecorder, replay } from '../../../providers/google/replay.ts'
import type { JsonObject, JsonValue } from '../../../src/messages/json.ts'
import type { ChatMessage, Part } from '../../../src/messages/messages.ts'

const text: Part = { type: 'text', text: 'Hello' }
const call = (id: string): Part => ({ type: 'toolCall', id, name: 'one', arguments: {} })
const data: Part = { type: 'data', mimeType: 'image/png', data: 'AA' }
const link: Part = { type: 'link', url: 'https://x.test' }
const message = (...parts: Part[]): ChatMessage => ({ role: 'model', parts })

describe('what is noted of the parts of an answer', () => {
  it('is nothing where the message says it all', () => {
    const recorder = new PartRecorder()
    recorder.text(2, undefined)
    recorder.call(0, undefined, false)
    recorder.media(0, undefined)
    expect(recorder.skeleton()).toBeUndefined()
  })

  it('is how texts were cut: unsigned pieces are one, signed ones are not', () => {
    const recorder = new PartRecorder()
    recorder.text(0, undefined)
    recorder.text(2, undefined)
    recorder.text(3, undefined)
    recorder.text(0, 's1')
    recorder.text(0, undefined)
    recorder.text(4, undefined)
    recorder.text(5, 's2')
    recorder.text(6, 's3')
    expect(recorder.skeleton()).toStrictEqual([
      { text: 5 },
      { text: 0, signature: 's1' },
      { text: 4 },
      { text: 5, signature: 's2' },
      { text: 6, signature: 's3' },
    ])
  })

  it('is each call once, with the signature and the id of any of its pieces', () => {
    const recorder = new PartRecorder()
    recorder.call(0, undefined, false)
    recorder.call(1, 's1', true)
    recorder.call(0, 's2', true)
    recorder.call(2, undefined, false)
    recorder.call(1, undefined, true)
    expect(recorder.skeleton()).toStrictEqual([
      { call: 0, signature: 's2' },
      { call: 1, signature: 's1' },
      { call: 2, noId: true },
    ])
  })

  it.each<[string, (recorder: PartRecorder) => void, JsonObject]>([
    ['a signed call', (recorder) => recorder.call(0, 's', true), { call: 0, signature: 's' }],
    ['a signed medium', (recorder) => recorder.media(0, 's'), { media: 0, signature: 's' }],
    ['a part as it came', (recorder) => recorder.raw({ toolCall: {} }), { raw: { toolCall: {} } }],
  ])('is kept because of %s', (_, record, bone) => {
    const recorder = new PartRecorder()
    recorder.text(1, undefined)
    record(recorder)
    expect(recorder.skeleton()).toStrictEqual([{ text: 1 }, bone])
  })

  it('is kept because of a signature that comes with a later piece of a call', () => {
    const recorder = new PartRecorder()
    recorder.call(0, undefined, true)
    recorder.call(0, 's', true)
    expect(recorder.skeleton()).toStrictEqual([{ call: 0, signature: 's' }])
  })
})

describe('an answer is sent back as it came', () => {
  const partOf = (part: Part): JsonObject | undefined =>
    part.type === 'link' && part.url.endsWith('#') ? undefined : { as: part.type }

  const rows: [string, ChatMessage, JsonValue[], JsonObject[] | undefined][] = [
    ['nothing at all', message(), [], []],
    [
      'parts in their order, signed as they were',
      message(text, call('a'), data, call('b'), link),
      [
        { call: 1, signature: 's1' },
        { text: 2 },
        { raw: { x: 1 } },
        { media: 0 },
        { text: 3, signature: 's2' },
        { call: 0 },
        { media: 1, signature: 's3' },
      ],
      [
        { as: 'toolCall', thoughtSignature: 's1' },
        { text: 'He' },
        { x: 1 },
        { as: 'data' },
        { text: 'llo', thoughtSignature: 's2' },
        { as: 'toolCall' },
        { as: 'link', thoughtSignature: 's3' },
      ],
    ],
    // All of these were edited since.
    ['text is left over', message(text), [{ text: 4 }], undefined],
    ['text is missing', message(text), [{ text: 6 }], undefined],
    ['a call is left over', message(text, call('a'), call('b')), [{ text: 5 }, { call: 0 }], undefined],
    ['a call is missing', message(text), [{ text: 5 }, { call: 0 }], undefined],
    ['a medium is left over', message(text, data, link), [{ text: 5 }, { media: 0 }], undefined],
    ['a medium is missing', message(text), [{ text: 5 }, { media: 0 }], undefined],
    [
      'a bone is of an unknown kind',
      message(text, call('a'), call('b'), data, link),
      [{ text: 5 }, { x: 0 }],
      undefined,
    ],
    ['a bone is not one', message(text), [null, { text: 5 }], undefined],
    ['a part cannot be sent', message({ type: 'link', url: '#' }), [{ media: 0 }], undefined],
  ]
  it.each(rows)('%s', (_, from, parts, expected) => {
    expect(replay({ parts }, from, partOf)).toStrictEqual(expected)
  })

  it('may have no skeleton at all', () => {
    expect(replay({}, message(), partOf)).toStrictEqual([])
    expect(replay({}, message(text), partOf)).toBeUndefined()
  })
})

it('calls that came without an id are known by their number', () => {
  const from = message(text, call('a'), call('b'), call('c'))
  const parts = [
    { call: 0, noId: true },
    { call: 1 },
    { call: 2, noId: true },
    { call: 1, noId: 'true' },
    { call: 3, noId: true },
    { noId: true },
    null,
    'x',
  ]
  expect(callsWithoutId({ parts }, from)).toStrictEqual(['a', 'c'])
  expect(callsWithoutId({}, from)).toStrictEqual([])
})
