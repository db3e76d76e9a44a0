import { describe, expect, it } from 'vitest'
import { type OutputItem, OutputItems } from '../../../providers/openai-responses/outputItems.ts'
import type { JsonObject } from '../../../src/messages/json.ts'

type Step = ['at' | 'announce' | 'finish', JsonObject, JsonObject] | ['pair', JsonObject[]]

/** Which item each step finds, numbered as they were opened. */
const play = (steps: Step[]): { found: (number | number[])[]; items: OutputItems } => {
  const items = new OutputItems()
  const seen: OutputItem[] = []
  const number = (item: OutputItem): number => {
    if (!seen.includes(item)) seen.push(item)
    return seen.indexOf(item)
  }
  const found = steps.map((step): number | number[] => {
    if (step[0] === 'pair') return items.pair(step[1]).map(([item]) => number(item))
    const [method, item, event] = step
    if (method === 'at') return number(items.at(String(item.type), event))
    const known = items[method](item, event)
    if (method === 'announce') known.announced = item
    else known.finish(item)
    return number(known)
  })
  return { found, items }
}

const message = (id?: string): JsonObject => ({ type: 'message', ...(id !== undefined && { id }) })
const call = (id?: string, call_id?: string): JsonObject => ({
  type: 'function_call',
  ...(id !== undefined && { id }),
  ...(call_id !== undefined && { call_id }),
})
const index = (output_index: number, item_id?: string): JsonObject => ({
  output_index,
  ...(item_id !== undefined && { item_id }),
})

const rows: [string, Step[], (number | number[])[]][] = [
  [
    'the place decides, and types are kept apart',
    [
      ['at', message(), index(0)],
      ['at', call(), index(0)],
      ['at', message(), index(1)],
      ['at', message(), index(0, 'other')],
      ['at', call(), index(0)],
    ],
    [0, 1, 2, 0, 1],
  ],
  [
    'without a place, the id decides, and without one the latest is meant',
    [
      ['at', message(), index(0, 'm1')],
      ['at', message(), index(1, 'm2')],
      ['at', message(), { item_id: 'm1' }],
      ['at', message(), { item_id: 'm9' }],
      ['at', message(), {}],
      ['at', message(), index(5, 'm1')],
      ['at', message(), index(6)],
      ['at', message(), { output_index: '0', item_id: 7 }],
    ],
    [0, 1, 0, 1, 1, 0, 2, 2],
  ],
  [
    'at one place, another id is another item once the first was announced',
    [
      ['at', message(), index(0)],
      ['announce', message('x'), index(0)],
      ['announce', message('x'), index(0)],
      ['announce', message('y'), index(0)],
      ['at', message(), index(0)],
      ['at', message(), index(0, 'x')],
      ['finish', message('x'), index(0)],
    ],
    [0, 0, 0, 1, 1, 0, 0],
  ],
  [
    'of two messages at one place, the one with the id is finished, else the first that is open',
    [
      ['announce', message('x'), index(0)],
      ['announce', message('y'), index(0)],
      ['finish', message('y'), index(0)],
      ['finish', message('z'), index(0)],
      ['finish', message('z2'), index(0)],
      ['finish', message('x'), index(0)],
    ],
    [0, 1, 1, 0, 2, 0],
  ],
  [
    'of two calls at one place, the call id decides before the id',
    [
      ['announce', call('f1', 'c1'), index(0)],
      ['announce', call('f2', 'c2'), index(0)],
      ['finish', call('f1', 'c2'), index(0)],
      ['finish', call('f9', 'c1'), index(0)],
      ['finish', call('f1'), index(0)],
      ['finish', call('f2'), index(0)],
      ['finish', call('f1', 'c3'), index(0)],
    ],
    [0, 1, 1, 0, 0, 1, 2],
  ],
  [
    'a call id that is new goes to a call that has none',
    [
      ['announce', call('f1', 'c1'), index(0)],
      ['announce', call('f2'), index(0)],
      ['finish', call('f9', 'c2'), index(0)],
      ['finish', call('f9', 'c3'), index(0)],
    ],
    [0, 1, 1, 2],
  ],
  [
    'a call that is finished is no longer one without an id',
    [
      ['announce', call('f1'), index(0)],
      ['finish', call('f1'), index(0)],
      ['announce', call('f1'), index(0)],
      ['announce', call('f2'), index(0)],
      ['finish', call('f9', 'c1'), index(0)],
    ],
    [0, 0, 0, 1, 1],
  ],
  [
    'calls without a place: the same call, or another one',
    [
      ['announce', call('f1', 'c1'), index(0)],
      ['finish', call(undefined, 'c2'), {}],
      ['finish', call('f1', 'c1'), {}],
      ['finish', call('f1'), {}],
      ['finish', call('f8'), {}],
    ],
    [0, 1, 0, 0, 2],
  ],
  [
    'an empty id does not count',
    [
      ['finish', message(''), {}],
      ['finish', message(''), {}],
    ],
    [0, 1],
  ],
  [
    'an id that comes late names the first item that has it',
    [
      ['announce', message('m'), index(0)],
      ['at', message(), index(1)],
      ['finish', message('m'), index(1)],
      ['at', message(), { item_id: 'm' }],
    ],
    [0, 1, 1, 0],
  ],
  [
    'an id that comes late is known afterwards',
    [
      ['at', message(), index(0)],
      ['announce', message('m'), index(0)],
      ['at', message(), index(1)],
      ['at', message(), { item_id: 'm' }],
      ['finish', message('m'), {}],
    ],
    [0, 0, 1, 0, 0],
  ],
  [
    'the list at the end is paired by ids first, then in order, each item once',
    [
      ['at', message(), index(0, 'm1')],
      ['at', message(), index(1, 'm2')],
      ['announce', call('f1', 'c1'), index(2)],
      [
        'pair',
        [message('m2'), message('x'), message('m2'), call('f9', 'c1'), call('f9', 'c1'), { id: 'm1' }],
      ],
    ],
    [0, 1, 2, [1, 0, 3, 2, 4, 5]],
  ],
  [
    'the list at the end has two calls with one call id',
    [
      ['announce', call('f1', 'c1'), index(0)],
      ['finish', call('f2', 'c1'), index(1)],
      ['pair', [call('f1', 'c1'), call('f2', 'c1')]],
    ],
    [0, 1, [0, 1]],
  ],
  [
    'the list at the end has renewed all ids: a call with an id is not one that has another',
    [
      ['announce', call('f1', 'c1'), index(0)],
      ['at', call(), index(1)],
      ['pair', [call('f8', 'c8'), call('f9', 'c1')]],
    ],
    [0, 1, [1, 0]],
  ],
]

it.each(rows)('%s', (_, steps, expected) => {
  expect(play(steps).found).toStrictEqual(expected)
})

describe('an item', () => {
  it('has a place, or follows those before it, and calls are counted apart', () => {
    const { items } = play([
      ['at', message(), index(3, 'm1')],
      ['at', call(), {}],
      ['finish', { type: 'custom_tool_call', id: 'f2' }, index(0)],
      ['pair', [message('m1'), { type: 'reasoning', id: 'r1' }]],
    ])
    expect(items.inOrder().map(({ type, index, callOrder, id }) => [type, index, callOrder, id])).toEqual([
      ['custom_tool_call', 0, 1, 'f2'],
      ['function_call', 1, 0, ''],
      ['reasoning', 1, 2, 'r1'],
      ['message', 3, 0, 'm1'],
    ])
  })

  it('keeps the first of each of its names', () => {
    const items = new OutputItems()
    const item = items.announce(call(undefined, undefined), index(0))
    expect([item.id, item.callId, item.name]).toEqual(['', '', ''])
    item.identify({ id: 'f1', call_id: 'c1', name: 'one' })
    item.identify({ id: 'f2', call_id: 'c2', name: 'two' })
    expect([item.id, item.callId, item.name]).toEqual(['f1', 'c1', 'one'])
  })

  it('has content with a name, with pieces or with a whole', () => {
    const open = () => new OutputItems().at('function_call', {})
    expect(open().hasContent).toBe(false)
    expect(Object.assign(open(), { name: 'one' }).hasContent).toBe(true)
    expect(Object.assign(open(), { pieces: '{' }).hasContent).toBe(true)
    expect(Object.assign(open(), { whole: {} }).hasContent).toBe(true)
  })

  it('keeps encrypted reasoning that a later report lacks', () => {
    const item = new OutputItems().at('reasoning', {})
    const reports = [{ n: 1 }, { n: 2, encrypted_content: 'x' }, { n: 3 }, { n: 4, encrypted_content: 'y' }]
    const kept = reports.map((report) => {
      item.finish(report)
      return item.done?.n
    })
    expect(kept).toEqual([1, 2, 2, 4])
  })
})
