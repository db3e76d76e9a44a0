import { describe, expect, it } from 'vitest'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import { called, decode, invalid, opaque, parts, type Row, stop, stopped } from './wire.ts'

describe('calls', () => {
  const call = (functionCall: object, more: object = {}) => parts({ functionCall, ...more })
  const delta = (index: number, fields: object) => ({ type: 'toolDelta', index, ...fields })
  const cut = (raw: string, problem: unknown = neverClosed) => ({
    arguments: {},
    argumentsRaw: raw,
    argumentsError: problem,
  })
  const leaf = { jsonPath: '$.a', stringValue: 'x' }
  const rows: Row[] = [
    [
      'that are whole',
      [
        call({ id: 'a', name: 'one', args: { m: 1 } }),
        call({ name: 'one', args: null }),
        call({ id: 7, name: 'one', args: '{"m":2}' }),
        call({ id: 'a', name: 'one', args: [1] }),
        call({ args: {} }),
        stop,
      ],
      [
        delta(0, { id: 'a', name: 'one', arguments: '{"m":1}' }),
        delta(1, { name: 'one', arguments: '' }),
        delta(2, { name: 'one', arguments: '{"m":2}' }),
        delta(3, { id: 'a', name: 'one', arguments: '[1]' }),
        delta(4, { arguments: '{}' }),
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { m: 1 } } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: { m: 2 } } },
        {
          type: 'toolCall',
          call: { id: 'a', name: 'one', ...cut('[1]', 'The arguments must be a JSON object, not an array.') },
        },
        { type: 'toolCall', call: { id: '', name: '', arguments: {} } },
        called,
      ],
    ],
    [
      'that say nothing',
      [
        call({}),
        call({ id: 'a' }),
        call({ partialArgs: [] }),
        call({ partialArgs: [null, 'x'] }),
        call({ willContinue: true }),
        stop,
      ],
      [stopped],
    ],
    [
      'in pieces: the id may come late, and an empty piece closes',
      [
        call({ name: 'one', willContinue: true }),
        call({ id: 'a', partialArgs: [leaf, null, { jsonPath: '$.b', numberValue: 1 }], willContinue: true }),
        call({ id: 'a', name: 'one', args: {}, willContinue: true }),
        call({}),
        call({ name: 'one' }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: 'x1' }),
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { name: 'one', arguments: '' }),
        { type: 'toolCall', call: { id: 'a', name: 'one', arguments: { a: 'x', b: 1 } } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        called,
      ],
    ],
    [
      'in pieces, with another name or id in between',
      [
        call({ id: 'a', name: 'one', willContinue: true }),
        call({ id: 'b', name: 'one', willContinue: true }),
        call({ name: 'two', willContinue: true }),
        stop,
      ],
      [
        delta(0, { id: 'a', name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'one', arguments: '' }),
        delta(2, { name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: 'a', name: 'one', ...cut('{}') } },
        { type: 'toolCall', call: { id: 'b', name: 'one', ...cut('{}') } },
        { type: 'toolCall', call: { id: '', name: 'two', ...cut('{}') } },
        called,
      ],
    ],
    [
      'in pieces that continue whole arguments, or are replaced by them',
      [
        call({ name: 'one', args: { b: 1 }, partialArgs: [leaf] }),
        call({ name: 'two', partialArgs: [leaf], willContinue: true }),
        call({ args: { c: 2 } }),
        call({ name: 'three', args: 'x', partialArgs: [leaf] }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '{"b":1}x' }),
        delta(1, { name: 'two', arguments: 'x' }),
        delta(1, { name: 'two', arguments: '{"c":2}' }),
        delta(2, { name: 'three', arguments: 'xx' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: { b: 1, a: 'x' } } },
        { type: 'toolCall', call: { id: '', name: 'two', arguments: { c: 2 } } },
        { type: 'toolCall', call: { id: '', name: 'three', arguments: { a: 'x' } } },
        called,
      ],
    ],
    [
      'whose pieces do not end, or make no sense',
      [
        call({ name: 'one', partialArgs: [{ ...leaf, willContinue: true }] }),
        call({ name: 'two', partialArgs: [leaf, { jsonPath: 'a', stringValue: 'y' }] }),
        call({ partialArgs: [leaf] }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: 'x' }),
        delta(1, { name: 'two', arguments: 'xy' }),
        delta(2, { arguments: 'x' }),
        { type: 'toolCall', call: { id: '', name: 'one', ...cut('{"a":"x"}') } },
        {
          type: 'toolCall',
          call: { id: '', name: 'two', ...cut('{"a":"x"}', 'The arguments have an impossible path: a') },
        },
        { type: 'toolCall', call: { id: '', name: '', arguments: { a: 'x' } } },
        called,
      ],
    ],
    [
      'with signatures are kept, with a note where there was no id',
      [
        call({ name: 'one' }, { thoughtSignature: 's' }),
        call({ id: 'b', name: 'two' }),
        call({}, { thoughtSignature: 't' }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { id: 'b', name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        { type: 'toolCall', call: { id: 'b', name: 'two', arguments: {} } },
        opaque({ call: 0, signature: 's', noId: true }, { call: 1 }),
        called,
      ],
    ],
    [
      'before a cut keep the reason of the cut',
      [call({ name: 'one' }), { candidates: [{ finishReason: 'MAX_TOKENS' }] }],
      [
        delta(0, { name: 'one', arguments: '' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        { type: 'finish', reason: 'length', raw: 'MAX_TOKENS' },
      ],
    ],
    [
      'in pieces whose call is closed by an empty one, before the next of the same name',
      [
        call({ name: 'one', willContinue: true }),
        call({ partialArgs: [leaf], willContinue: true }),
        call({}),
        call({ name: 'one', willContinue: true }),
        call({ partialArgs: [{ ...leaf, stringValue: 'y' }] }),
        call({ name: 'two' }),
        stop,
      ],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(0, { name: 'one', arguments: 'x' }),
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { name: 'one', arguments: '' }),
        delta(1, { name: 'one', arguments: 'y' }),
        delta(2, { name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: { a: 'x' } } },
        { type: 'toolCall', call: { id: '', name: 'one', arguments: { a: 'y' } } },
        { type: 'toolCall', call: { id: '', name: 'two', arguments: {} } },
        called,
      ],
    ],
    [
      'of a stream that failed are reported if they are whole',
      [call({ name: 'one' }), call({ name: 'two', willContinue: true }), '{'],
      [
        delta(0, { name: 'one', arguments: '' }),
        delta(1, { name: 'two', arguments: '' }),
        { type: 'toolCall', call: { id: '', name: 'one', arguments: {} } },
        invalid('{'),
      ],
    ],
  ]
  it.each(rows)('%s', (_, chunks, expected) => expect(decode(chunks)).toStrictEqual(expected))

  it.each(['$.list[1000000000]', '$.s.deeper', '$.s[0]'])(
    'with a leaf at the impossible path %s are refused',
    (path) => {
      const leaves = [
        { jsonPath: '$.s', stringValue: 'text' },
        { jsonPath: path, stringValue: 'v' },
      ]
      const refused = decode([call({ name: 'one', partialArgs: leaves }), stop])[1]
      expect(refused).toMatchObject({
        call: { arguments: {}, argumentsError: expect.stringContaining(path) },
      })
    },
  )

  it('with leaves never reach a prototype', () => {
    const leaves = ['$.__proto__.polluted', '$.constructor.prototype.polluted'].map((jsonPath) => ({
      jsonPath,
      boolValue: true,
    }))
    const [, whole] = decode([call({ name: 'one', partialArgs: leaves }), stop])
    expect(JSON.stringify(whole)).toContain(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    )
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})
