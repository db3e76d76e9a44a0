/** The messages of a run, and those that it shares with the runs below it. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Items } from '../../src/durable/sqlite/Items.ts'
import { type NewRun, notStarted } from '../../src/durable/sqlite/runRow.ts'
import { type OpenStore, openStore, sqlite } from '../../src/durable/sqlite/sqlite.ts'
import { storeFile } from './storeFile.ts'

const store = async (path = storeFile()): Promise<OpenStore> => {
  const open = await openStore(sqlite(path))
  onTestFinished(() => open.file.close())
  return open
}

const bare: NewRun = {
  ...notStarted,
  id: 'job',
  agent: 'janitor',
  prompt: 'Wipe it',
  packedSnapshot: '{"input":{}}',
  forkedFrom: undefined,
  base: undefined,
  context: undefined,
  request: undefined,
  answer: undefined,
  metadata: undefined,
  tags: [],
}

test('a copy of one of the last items is found without writing it out', () => {
  const items = new Items()
  const message = { role: 'user', parts: [{ type: 'text', text: 'x'.repeat(100_000) }] }
  const place = items.placeAfter(message, undefined)
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => stringify.mockRestore())
  expect(items.placeAfter(structuredClone(message), undefined)).toEqual(place)
  expect(items.place(structuredClone(message))).toEqual(place)
  expect(stringify).not.toHaveBeenCalled()
  // Another one, and an equal one at the end of a list, are new.
  expect(items.placeAfter({ ...message, role: 'model' }, undefined)).toEqual({ thread: 2, index: 0 })
  expect(items.placeAfter(structuredClone(message), place)).toEqual({ thread: 1, index: 1 })
  expect(items.fresh.map(({ data }) => JSON.parse(data).role)).toEqual(['user', 'model', 'user'])
})

describe('the items of a run', () => {
  const item = (thread: number, index: number, name: string) => ({
    thread,
    index,
    data: JSON.stringify({ name }),
  })
  const names = (items: { at(thread: number, index: number): object }, places: [number, number][]) =>
    places.map(([thread, index]) => {
      try {
        return Object(items.at(thread, index)).name
      } catch {
        return undefined
      }
    })

  /** Three runs, each built on a part of the one before, which went on after it. */
  const three = async () => {
    const open = await store()
    const { runs, items } = open
    const base2 = { run: 1, counts: { 1: 2, 2: 1 } }
    const base3 = { run: 2, counts: { 0: 1, 1: 3 } }
    runs.insert({ ...bare, id: 'one' }, 1)
    runs.insert({ ...bare, id: 'two', base: base2 }, 1)
    runs.insert({ ...bare, id: 'three', base: base3 }, 1)
    items.insert(1, [item(0, 0, '1.0.0'), item(1, 0, '1.1.0'), item(1, 1, '1.1.1'), item(1, 2, '1.1.2')])
    items.insert(1, [item(2, 0, '1.2.0'), item(2, 1, '1.2.1')])
    items.insert(2, [item(0, 0, '2.0.0'), item(1, 2, '2.1.2'), item(1, 3, '2.1.3'), item(2, 1, '2.2.1')])
    items.insert(3, [item(1, 3, '3.1.3'), item(2, 0, '3.2.0')])
    return { ...open, base2, base3 }
  }
  const places: [number, number][] = [
    [0, 0],
    [1, 0],
    [1, 1],
    [1, 2],
    [1, 3],
    [2, 0],
    [2, 1],
  ]
  const ofOne = ['1.0.0', '1.1.0', '1.1.1', '1.1.2', undefined, '1.2.0', '1.2.1']
  const ofTwo = ['2.0.0', '1.1.0', '1.1.1', '2.1.2', '2.1.3', '1.2.0', '2.2.1']
  const ofThree = ['2.0.0', '1.1.0', '1.1.1', '2.1.2', '3.1.3', '3.2.0', undefined]

  test('are its own, and as many of those below as it builds on', async () => {
    const { items, base2, base3 } = await three()
    for (const [run, base, expected] of [
      [1, undefined, ofOne],
      [2, base2, ofTwo],
      [3, base3, ofThree],
    ] as const) {
      expect(names(items.load(run, base), places)).toEqual(expected)
      const single = {
        at: (thread: number, index: number) => JSON.parse(items.find(run, base, thread, index)),
      }
      expect(names(single, places)).toEqual(expected)
    }
    expect(names(items.inherit(base3), places)).toEqual(['2.0.0', '1.1.0', '1.1.1', '2.1.2', ...Array(3)])
    expect(names(items.inherit(undefined), places)).toEqual(Array(7).fill(undefined))
    expect(items.load(3, base3).fresh).toEqual([])
    expect(() => items.find(3, base3, 2, 1)).toThrow('item 1 of thread 2 is missing')
  })

  test('of a run that is its own base are refused: there would be no end', async () => {
    const { items, file } = await three()
    for (const base of [2, 3]) {
      file.exec(`UPDATE runs SET base = ${base} WHERE n = 2`)
      expect(() => items.inherit({ run: 2, counts: { 1: 3 } })).toThrow('a run builds on a newer one')
      expect(() => items.find(9, { run: 2, counts: { 5: 1 } }, 5, 0)).toThrow('a run builds on a newer one')
    }
  })
})
