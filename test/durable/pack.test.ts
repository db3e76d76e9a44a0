/** A packed value comes back the same, each message is stored once, and a packed snapshot does not grow with the conversation. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ItemRow, Items } from '../../src/durable/sqlite/Items.ts'
import { extentOf, hostedFrom, pack, unpack } from '../../src/durable/sqlite/pack.ts'
import { type ChatMessage, modelMessage, userMessage } from '../../src/messages/messages.ts'

/** The items as another process finds them. */
const reloaded = (rows: readonly ItemRow[]): Items => {
  const items = new Items()
  for (const row of rows.toSorted((a, b) => a.thread - b.thread || a.index - b.index)) items.load(row)
  return items
}

const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value))

const talk = (count: number, from = 0): ChatMessage[] =>
  Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? userMessage(`question ${from + index}`) : modelMessage(`answer ${from + index}`),
  )

const messageArbitrary = fc.record({
  role: fc.constantFrom('system', 'user', 'model'),
  parts: fc.array(fc.record({ type: fc.constant('text'), text: fc.string() }), { maxLength: 2 }),
})

/** Objects whose keys look like ours, and messages anywhere. */
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    messageArbitrary,
    fc.array(messageArbitrary, { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.constantFrom('$m', '$i', '$$m', '$', 'metadata', '__proto__', 'role'), fc.string()),
      tie('value'),
      { maxKeys: 4 },
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.constantFrom({ $m: [[1, 0, 1]] }, { $i: [0, 0] }, { $m: [[0, 0, 9]], other: 1 }),
  ),
})).value

describe('what is packed', () => {
  test('comes back the same, in the same process and in another one', () => {
    fc.assert(
      fc.property(fc.array(anything, { minLength: 1, maxLength: 4 }), (values) => {
        const items = new Items()
        const packedValues = values.map((value) => pack({ value }, items))
        const later = reloaded(items.fresh)
        for (const [index, packed] of packedValues.entries()) {
          const expected = copyOf({ value: values[index] })
          expect(unpack(packed, items)).toEqual(expected)
          expect(unpack(packed, later)).toEqual(expected)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('is the same text again after it was restored: nothing is written twice', () => {
    const items = new Items()
    const history = talk(7)
    const packed = pack({ history, messages: history.slice(2), input: { messages: history } }, items)
    const later = reloaded(items.fresh)
    expect(pack(unpack(packed, later), later)).toBe(packed)
    expect(later.fresh).toEqual([])
  })
})

describe('a message', () => {
  test('is stored once, however often a packed snapshot names it', () => {
    const items = new Items()
    const history = talk(6)
    pack({ history, messages: history.slice(3), draft: history[5] }, items)
    expect(items.fresh).toHaveLength(6)
  })

  test('is known again when a chart has copied it', () => {
    const items = new Items()
    const history = talk(40)
    pack({ history }, items)
    items.stored()
    const packed = pack({ phase: { history: copyOf(history) } }, items)
    expect(items.fresh).toEqual([])
    expect(packed).toBe('{"phase":{"history":{"$m":[[1,0,40]]}}}')
  })

  test('that was left out of a copy breaks the range, and nothing else', () => {
    const items = new Items()
    const history = talk(10)
    pack({ history }, items)
    const shorter = copyOf(history.toSpliced(4, 1))
    expect(pack(shorter, items)).toBe('{"$m":[[1,0,4],[1,5,5]]}')
    expect(items.fresh).toHaveLength(10)
  })

  test('that is said over and over stays in one range', () => {
    const items = new Items()
    const history: ChatMessage[] = []
    for (let turn = 0; turn < 50; turn += 1) {
      history.push(userMessage('go on'), modelMessage('ok'))
      expect(pack(history, items)).toBe(`{"$m":[[1,0,${history.length}]]}`)
    }
  })

  test('of a run inside another one is in a thread of its own', () => {
    const items = new Items()
    let history = talk(2)
    for (let step = 0; step < 20; step += 1) {
      const inner = talk(3, 1000 * (step + 1))
      pack({ history, children: { call: { history: inner } } }, items)
      history = [...history, ...talk(2, 10 * (step + 1))]
    }
    expect(pack(history, items)).toBe('{"$m":[[1,0,42]]}')
  })
})

test('a large result or call is stored once, a small one is written out', () => {
  const items = new Items()
  const large = { type: 'toolResult', id: 'a', name: 'read', result: 'x'.repeat(5000) }
  const small = { type: 'toolResult', id: 'b', name: 'read', result: 'y' }
  const first = pack({ results: [[large, small]] }, items)
  expect(first).toBe(`{"results":[[{"$i":[0,0]},${JSON.stringify(small)}]]}`)
  expect(pack({ results: [[large], [small]] }, items).length).toBeLessThan(150)
  expect(items.fresh).toHaveLength(1)
})

test('a packed snapshot does not grow with the conversation: 1,000 steps', () => {
  const items = new Items()
  let history = talk(1)
  const sizes: number[] = []
  const metadata: object[] = []
  for (let step = 0; step < 1000; step += 1) {
    history = [...history, modelMessage(`I look at ${step}`), userMessage(`found ${step}`)]
    metadata.push({ thinking: `about ${step}` })
    const totals = { metadata: [...metadata] }
    const packed = pack({ history, messages: history, totals, input: { messages: history } }, items)
    items.stored()
    sizes.push(packed.length)
  }
  // Only the digits of the counts grow.
  expect((sizes.at(-1) ?? 0) - (sizes[0] ?? 0)).toBeLessThanOrEqual(4 * 3)
})

test('says how much of each thread a packed snapshot refers to', () => {
  const items = new Items()
  const history = talk(9)
  pack({ history }, items)
  const draft = modelMessage('apart')
  expect(extentOf(pack({ history: history.slice(0, 4), draft }, items))).toEqual({ 0: 1, 1: 4 })
})

describe('a packed snapshot that is not as it was written', () => {
  const items = new Items()
  pack(talk(3), items)

  test.each([
    ['no JSON', '{"history":'],
    ['a thread that is not there', '{"history":{"$m":[[7,0,1]]}}'],
    ['more items than there are', '{"history":{"$m":[[1,0,1e9]]}}'],
    ['a range of words', '{"history":{"$m":[["a","b","c"]]}}'],
    ['a range of a count that is a string', '{"history":{"$m":[[1,0,"1"]]}}'],
    ['a place of a property', '{"draft":{"$i":[1,"length"]}}'],
    ['a range that is not a list', '{"history":{"$m":[null]}}'],
    ['a place of nothing', '{"draft":{"$i":[]}}'],
    ['a place of the prototype', '{"draft":{"$i":["__proto__","constructor"]}}'],
    ['a negative index', '{"history":{"$m":[[1,-3,3]]}}'],
    ['an unknown marker', '{"draft":{"$x":1}}'],
  ])('is refused with a clear error: %s', (_, packed) => {
    expect(() => unpack(packed, items)).toThrow(/^The stored data is damaged: /)
  })

  test.each(['5', '[]', '{}', '{"snapshot":5}', '{"input":[]}'])(
    'a run cannot continue from %s',
    (packed) => {
      expect(() => hostedFrom(packed, items)).toThrow('a run has neither an input nor a snapshot')
    },
  )

  test('and so are items that are not there, or not JSON', () => {
    expect(() => reloaded([{ thread: 1, index: 1, data: '{}' }])).toThrow(/item 0 of thread 1 is missing/)
    for (const data of ['5', 'null', '{'])
      expect(() => reloaded([{ thread: 1, index: 0, data }])).toThrow(/an item is not JSON/)
  })
})
