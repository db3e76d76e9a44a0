import { describe, expect, it } from 'vitest'
import { neverClosed } from '../../../providers/wire/decoder.ts'
import { ToolCallAssembler, type ToolCallPiece } from '../../../providers/wire/toolCallAssembler.ts'

// Which call a piece belongs to. The numbers are the calls that the pieces go to, one after the other.

const assembled = (pieces: ToolCallPiece[]) => {
  const assembler = new ToolCallAssembler()
  const deltas = pieces.map((piece) => assembler.add(piece))
  return { assembler, deltas }
}
const placesOf = (pieces: ToolCallPiece[]): number[] =>
  assembled(pieces).deltas.map((delta) => (delta.type === 'toolDelta' ? delta.index : -1))

/** A piece: its index, its id, its name, its arguments. */
const piece = (
  index: number | null | undefined,
  id: string | null | undefined,
  name?: string | null,
  args?: unknown,
): ToolCallPiece => ({ index, id, name, arguments: args })

const rows: [string, ToolCallPiece[], number[]][] = [
  [
    'an index below zero, or null, does not count',
    [piece(-1, null, 'one'), piece(-1, null, 'two'), piece(null, null, 'three')],
    [0, 1, 2],
  ],
  ['the index 0 is one', [piece(0, null, 'one'), piece(0, null, '', '{}'), piece(1, null, 'two')], [0, 0, 1]],
  ['the same id elsewhere, with a name', [piece(0, 'a', 'one', '{}'), piece(1, 'a', 'one', '{}')], [0, 1]],
  ['the same id elsewhere, without a name', [piece(0, 'a', 'one'), piece(1, 'a', '', '{}')], [0, 0]],
  [
    'the same id and name, without an index',
    [piece(undefined, 'a', 'one'), piece(undefined, 'a', 'one', '{}')],
    [0, 0],
  ],
  [
    'the same id, out of order',
    [piece(undefined, 'a', 'one'), piece(undefined, 'b', 'two'), piece(undefined, 'a', '', '{}')],
    [0, 1, 0],
  ],
  ['a new id with a name', [piece(0, 'a', 'one'), piece(0, 'b', 'one')], [0, 1]],
  [
    'a new id on a nameless piece of an open call',
    [piece(0, 'a', 'one', '{"m"'), piece(0, 'b', '', ':1}')],
    [0, 0],
  ],
  [
    'a new id on a nameless piece of a whole call',
    [piece(0, 'a', 'one', '{}'), piece(0, 'b', '', '{}')],
    [0, 1],
  ],
  [
    'a new id on a nameless piece without an index',
    [piece(undefined, 'a', 'one', '{"m"'), piece(undefined, 'b', '', ':1}')],
    [0, 1],
  ],
  [
    'an id that comes late',
    [piece(0, '', 'one'), piece(0, 'a', 'one', '{}'), piece(undefined, 'a', '', '')],
    [0, 0, 0],
  ],
  ['the same name again', [piece(undefined, '', 'one'), piece(undefined, '', 'one')], [0, 0]],
  ['a name that grows', [piece(undefined, '', 'get'), piece(undefined, '', 'get_time')], [0, 0]],
  [
    'a name that only ends like the one before',
    [piece(undefined, '', 'get'), piece(undefined, '', 'time_get')],
    [0, 1],
  ],
  ['a name that comes late', [piece(undefined, '', '', '{"m"'), piece(undefined, '', 'one', ':1}')], [0, 0]],
  ['a name that comes after the whole', [piece(0, '', '', '{}'), piece(0, '', 'one')], [0, 0]],
  [
    'the same name after a whole, without arguments',
    [piece(0, '', 'one', '{}'), piece(0, '', 'one'), piece(0, '', 'one', null), piece(0, '', 'one', ' ')],
    [0, 0, 0, 0],
  ],
  [
    'the same name after a whole, with arguments',
    [piece(0, '', 'one', '{}'), piece(0, '', 'one', '{}')],
    [0, 1],
  ],
  ['the same name after an object', [piece(0, '', 'one', { m: 1 }), piece(0, '', 'one', { m: 2 })], [0, 1]],
  ['another name after a whole', [piece(0, '', 'one', '{}'), piece(0, '', 'two')], [0, 1]],
  ['another name after half of the arguments', [piece(0, '', 'one', '{'), piece(0, '', 'two', '{}')], [0, 1]],
  ['a name that grows beside arguments', [piece(0, '', 'get', '{'), piece(0, '', 'get_time', '}')], [0, 0]],
  ['a whole call once more', [piece(0, 'a', 'one', '{}'), piece(0, 'a', 'one', '{}')], [0, 0]],
  ['a whole object once more', [piece(0, 'a', 'one', { m: 1 }), piece(0, 'a', 'one', { m: 1 })], [0, 0]],
  [
    'a whole call with other arguments',
    [piece(0, 'a', 'one', '{"m":1}'), piece(0, 'a', 'one', '{"m":2}')],
    [0, 1],
  ],
  [
    'a whole object with other arguments',
    [piece(0, 'a', 'one', { m: 1 }), piece(0, 'a', 'one', { m: 2 })],
    [0, 1],
  ],
  ['a whole call with another name', [piece(0, 'a', 'one', '{}'), piece(0, 'a', 'two', '{}')], [0, 1]],
  ['a whole call with another id', [piece(0, 'a', 'one', '{}'), piece(0, 'b', 'one', '{}')], [0, 1]],
  [
    'a whole call without an id',
    [piece(undefined, '', 'one', '{}'), piece(undefined, '', 'one', '{}')],
    [0, 1],
  ],
]

describe('a piece belongs to a call', () => {
  it.each(rows)('%s', (_, pieces, places) => expect(placesOf(pieces)).toStrictEqual(places))

  it('that is another one for an entry of the same event', () => {
    const one = piece(undefined, '', 'one')
    expect(placesOf([one, { ...one, isSibling: true }, one])).toStrictEqual([0, 1, 1])
  })

  it.each([
    ['{"a":{"b":1}', '}'],
    ['{"a":"}"', '}'],
    ['{"a":"\\"}"', '}'],
    ['{"a":"\\\\\\"}', '"}'],
    ['{"a":"{}', '"}'],
    ['{"a', '":1}'],
    ['', '{}'],
  ])('that is still open: %s and %s', (before, after) => {
    const pieces = [piece(0, '', 'one', before), piece(0, '', 'one', after)]
    expect(placesOf(pieces)).toStrictEqual([0, 0])
    expect(assembled(pieces).assembler.finish()).toEqual([
      { id: '', name: 'one', arguments: JSON.parse(before + after) },
    ])
    // The same, character by character.
    const pieced = [
      piece(0, '', 'one'),
      ...[...before].map((char) => piece(0, '', '', char)),
      piece(0, '', 'one', after),
    ]
    expect(new Set(placesOf(pieced))).toEqual(new Set([0]))
  })

  it.each(['{"a":{"b":1}}', '{"a":"\\\\"}', '{"a":"{"}', '{"a":"\\"{"}', '{"a":[{},{}]}', ' {} '])(
    'that is closed: %s',
    (whole) => {
      expect(placesOf([piece(0, '', 'one', whole), piece(0, '', 'one', '{}')])).toStrictEqual([0, 1])
      const pieced = [piece(0, '', 'one'), ...[...whole].map((char) => piece(0, '', '', char))]
      expect(placesOf([...pieced, piece(0, '', 'one', '{}')]).at(-1)).toBe(1)
    },
  )
})

describe('what a piece shows', () => {
  it('is all that is known of its call, and only new text', () => {
    const { deltas } = assembled([
      piece(0, null, null, null),
      piece(0, '', 'get', undefined),
      piece(0, 'a', '', ' '),
      piece(0, '', '_time', '{"m":1}'),
      piece(0, 'a', 'get_time', ' {"m":1}'),
      piece(1, 'b', 'two', { n: 2 }),
      piece(1, 'b', 'two', { n: 2 }),
      piece(2, 7 as never, 8 as never, 9),
    ])
    expect(deltas).toStrictEqual([
      { type: 'toolDelta', index: 0, arguments: '' },
      { type: 'toolDelta', index: 0, name: 'get', arguments: '' },
      { type: 'toolDelta', index: 0, id: 'a', name: 'get', arguments: ' ' },
      { type: 'toolDelta', index: 0, id: 'a', name: 'get_time', arguments: '{"m":1}' },
      { type: 'toolDelta', index: 0, id: 'a', name: 'get_time', arguments: '' },
      { type: 'toolDelta', index: 1, id: 'b', name: 'two', arguments: '{"n":2}' },
      { type: 'toolDelta', index: 1, id: 'b', name: 'two', arguments: '' },
      { type: 'toolDelta', index: 2, arguments: '9' },
    ])
  })
})

describe('the end', () => {
  const three = ['a', 'b', 'c'].map((id, index) => piece(index, id, 'one'))
  const call = (id: string) => ({ id, name: 'one', arguments: {} })
  const cut = (id: string, argumentsRaw = '') => ({ ...call(id), argumentsRaw, argumentsError: neverClosed })

  it('is fine without arguments, unless the answer was cut there, or the call had to be closed', () => {
    const { assembler } = assembled(three)
    expect(assembler.finish()).toStrictEqual(['a', 'b', 'c'].map(call))
    expect(assembler.finish({ isCut: true })).toStrictEqual([call('a'), call('b'), cut('c')])
    expect(assembler.finish({ mustBeClosed: true })).toStrictEqual(['a', 'b', 'c'].map((id) => cut(id)))
    assembler.close(7)
    assembler.close(0)
    expect(assembler.finish({ mustBeClosed: true })).toStrictEqual([call('a'), cut('b'), cut('c')])
    assembler.close()
    expect(assembler.finish({ mustBeClosed: true })).toStrictEqual([call('a'), cut('b'), call('c')])
    expect(assembler.finish({ mustBeClosed: true, isCut: true })).toStrictEqual([
      call('a'),
      cut('b'),
      cut('c'),
    ])
  })

  it('is fine with arguments in any case, and blanks do not count', () => {
    const { assembler } = assembled([
      piece(0, 'a', 'one', '{}'),
      piece(1, 'b', 'one', {}),
      piece(2, 'c', 'one', ' '),
    ])
    expect(assembler.finish({ isCut: true, mustBeClosed: true })).toStrictEqual([
      call('a'),
      call('b'),
      cut('c', ' '),
    ])
  })

  it('leaves out what has neither a name nor arguments', () => {
    const empty = new ToolCallAssembler()
    empty.close()
    expect([empty.isEmpty, empty.finish(), empty.extras()]).toStrictEqual([true, [], []])
    const { assembler } = assembled([
      piece(0, 'a', '', ' '),
      { ...piece(1, 'b', 'one'), extra: { s: 1 } },
      piece(2, 'c', '', '{}'),
    ])
    expect(assembled([piece(0, 'a')]).assembler.isEmpty).toBe(true)
    expect(assembler.isEmpty).toBe(false)
    expect(assembler.finish()).toStrictEqual([call('b'), { ...call('c'), name: '' }])
    expect(assembler.extras()).toStrictEqual([{ s: 1 }, null])
  })

  it('of a stream that failed leaves only calls that are whole', () => {
    const { assembler } = assembled([
      piece(0, 'a', 'one', '{"m":1}'),
      piece(1, 'b', 'one'),
      piece(2, 'c', '', '{}'),
      piece(3, 'd', 'one', '{'),
      piece(4, 'e', 'one', {}),
    ])
    expect(assembler.finishWhole()).toStrictEqual([{ ...call('a'), arguments: { m: 1 } }, call('e')])
  })
})
