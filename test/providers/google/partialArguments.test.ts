import { expect, it } from 'vitest'
import { PartialArguments } from '../../../providers/google/functionCalls.ts'
import type { JsonObject } from '../../../src/messages/json.ts'

const text = (jsonPath: string, stringValue: string, more: JsonObject = {}): JsonObject => ({
  jsonPath,
  stringValue,
  ...more,
})
const number = (jsonPath: string, numberValue: number): JsonObject => ({ jsonPath, numberValue })
const grows = { willContinue: true }
const impossible = (path: string) => `The arguments have an impossible path: ${path}`

type Outcome = { value: JsonObject; texts: string[]; problem?: string; isGrowing?: boolean }

const rows: [string, JsonObject[], Outcome][] = [
  [
    'each kind of value',
    [
      text('$.a', 'x'),
      number('$.b', 0),
      { jsonPath: '$.c', boolValue: false },
      { jsonPath: '$.d', nullValue: 'NULL_VALUE' },
    ],
    { value: { a: 'x', b: 0, c: false, d: null }, texts: ['x', '0', 'false', 'null'] },
  ],
  [
    'a value that grows, one that is replaced, and one that changes its kind',
    [
      text('$.a', 'x', grows),
      text('$.a', 'y', grows),
      text('$.a', 'z'),
      text('$.b', 'x'),
      text('$.b', 'y'),
      text('$.c', 'x', grows),
      number('$.c', 1),
    ],
    { value: { a: 'xyz', b: 'y', c: 1 }, texts: ['x', 'y', 'z', 'x', 'y', 'x', '1'] },
  ],
  [
    'a value that is announced before it comes',
    [{ jsonPath: '$.a', ...grows }, text('$.a', 'x')],
    { value: { a: 'x' }, texts: ['', 'x'] },
  ],
  [
    'a value that says it continues, and does not',
    [text('$.a', 'x', grows), number('$.b', 1)],
    { value: { a: 'x', b: 1 }, texts: ['x', '1'], isGrowing: true },
  ],
  [
    'a value that ends without a piece',
    [text('$.a', 'x', grows), { jsonPath: '$.a' }, { jsonPath: '$.b', willContinue: 'true' }],
    { value: { a: 'x' }, texts: ['x', '', ''] },
  ],
  [
    'objects and lists inside each other',
    [number('$.rows[0].a', 1), number('$.rows[0].b', 2), number('$.rows[1][0]', 3), number('$.o.p.q', 4)],
    { value: { rows: [{ a: 1, b: 2 }, [3]], o: { p: { q: 4 } } }, texts: ['1', '2', '3', '4'] },
  ],
  [
    'names in quotes',
    [
      number(`$['a b']`, 1),
      number(`$["c.d"]`, 2),
      number(`$['e\\'f'].g`, 3),
      number(`$["h\\"\\\\i"]`, 4),
      number(`$['']`, 5),
    ],
    {
      value: { 'a b': 1, 'c.d': 2, "e'f": { g: 3 }, 'h"\\i': 4, '': 5 },
      texts: ['1', '2', '3', '4', '5'],
    },
  ],
  [
    'the name __proto__ is a name',
    [number('$.__proto__.a', 1)],
    { value: JSON.parse('{"__proto__":{"a":1}}'), texts: ['1'] },
  ],
  ...['', '$', 'a', 'x.a', '$a', '$.', '$[x]', '$[0]', '$.a b[', "$['a"].map(
    (path): [string, JsonObject[], Outcome] => [
      `the path "${path}"`,
      [text(path, 'x')],
      { value: {}, texts: ['x'], problem: impossible(path) },
    ],
  ),
  ['no path', [{ stringValue: 'x' }], { value: {}, texts: ['x'], problem: impossible('') }],
  [
    'a list that would have a gap',
    [number('$.a[0]', 1), number('$.a[2]', 2)],
    { value: { a: [1] }, texts: ['1', '2'], problem: impossible('$.a[2]') },
  ],
  [
    'a list with a gap from the beginning',
    [number('$.a[1].b', 1)],
    { value: { a: [] }, texts: ['1'], problem: impossible('$.a[1].b') },
  ],
  [
    'a name in a list',
    [number('$.a[0]', 1), number('$.a.b', 2)],
    { value: { a: [1] }, texts: ['1', '2'], problem: impossible('$.a.b') },
  ],
  [
    'a number in an object',
    [number(`$.a['0'].b`, 1), number('$.a[0].c', 2)],
    { value: { a: { 0: { b: 1 } } }, texts: ['1', '2'], problem: impossible('$.a[0].c') },
  ],
  [
    'a step into a text',
    [text('$.a', 'x'), number('$.a.b', 1), number('$.a[0].b', 2)],
    // The first problem is kept.
    { value: { a: 'x' }, texts: ['x', '1', '2'], problem: impossible('$.a.b') },
  ],
]

it.each(rows)('%s', (_, leaves, { value, texts, problem, isGrowing = false }) => {
  const partial = new PartialArguments({})
  expect(leaves.map((leaf) => partial.add(leaf))).toStrictEqual(texts)
  expect(JSON.stringify(partial.value)).toBe(JSON.stringify(value))
  expect([partial.problem, partial.isGrowing]).toStrictEqual([problem, isGrowing])
})

it('continue what was there before', () => {
  const partial = new PartialArguments({ a: { b: 1 } })
  partial.add(number('$.a.c', 2))
  expect(partial.value).toStrictEqual({ a: { b: 1, c: 2 } })
})
