/** Runs that wait in memory: so many, so old, so large, and no more. */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { PendingApproval } from '../../src/messages/result.ts'
import { WaitingRuns } from '../../src/ui/WaitingRuns.ts'

const pending = (id: string, text = ''): PendingApproval => ({
  calls: [{ type: 'toolCall', id, name: text, arguments: {}, kind: 'approval' }],
  snapshot: { status: 'active', output: undefined, error: undefined },
})
const idsIn = (runs: WaitingRuns, ...ids: string[]) => ids.filter((id) => runs.get(id) !== undefined)

test('the oldest make room, and one that waits again is the newest', () => {
  const runs = new WaitingRuns(2, 1000)
  for (const id of ['one', 'two', 'one', 'three']) runs.put(id, pending(id))
  expect(idsIn(runs, 'one', 'two', 'three')).toEqual(['one', 'three'])
  expect(runs.get('one')?.pending.calls[0].id).toBe('one')
  runs.delete('one')
  runs.delete('unknown')
  runs.put('four', pending('four'))
  expect(idsIn(runs, 'one', 'three', 'four')).toEqual(['three', 'four'])
})

test('what is given is a copy', () => {
  const runs = new WaitingRuns(1, 1000)
  const given = pending('c1')
  runs.put('one', given)
  given.calls[0].id = 'c2'
  expect(runs.get('one')?.pending.calls[0].id).toBe('c1')
})

test('none is kept longer than it may be', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const runs = new WaitingRuns(10, 1000)
  runs.put('one', pending('one'))
  vi.setSystemTime(Date.now() + 999)
  runs.put('two', pending('two'))
  expect(idsIn(runs, 'one', 'two')).toEqual(['one', 'two'])
  vi.setSystemTime(Date.now() + 1)
  expect(idsIn(runs, 'one', 'two')).toEqual(['two'])
})

test('their text is kept up to the limit, and not one character more', () => {
  const one = pending('one', 'x'.repeat(300))
  const { length } = JSON.stringify(one)
  const runs = new WaitingRuns(10, 1000, 2 * length)
  runs.put('one', one)
  runs.put('one', one)
  runs.put('two', one)
  runs.delete('two')
  runs.put('two', one)
  expect(idsIn(runs, 'one', 'two')).toEqual(['one', 'two'])
  runs.put('three', pending('three'))
  expect(idsIn(runs, 'one', 'two', 'three')).toEqual(['two', 'three'])
  const large = new WaitingRuns(10, 1000)
  large.put('one', pending('one', 'x'.repeat(100_000)))
  expect(idsIn(large, 'one')).toEqual(['one'])
})

test('a client with large conversations drops its own, and not the small ones of others', () => {
  const runs = new WaitingRuns(1000, 1000, 100_000)
  for (const id of ['one', 'two', 'three']) runs.put(id, pending(id))
  for (let count = 0; count < 24; count += 1) runs.put(`large${count}`, pending('c1', 'x'.repeat(30_000)))
  expect(idsIn(runs, 'one', 'two', 'three')).toEqual(['one', 'two', 'three'])
  expect(Array.from({ length: 24 }, (_, n) => `large${n}`).filter((id) => runs.get(id))).toHaveLength(3)
})

test('of named clients, the one that has most makes room', () => {
  const runs = new WaitingRuns(5, 1000, 100_000)
  runs.put('ada', pending('c1'), { client: 'ada' })
  runs.put('bob', pending('c1'), { client: 'bob' })
  const chats = Array.from({ length: 30 }, (_, n) => `eve${n}`)
  for (const id of chats) runs.put(id, pending('c1'), { client: 'eve' })
  expect(idsIn(runs, 'ada', 'bob', ...chats)).toEqual(['ada', 'bob', 'eve27', 'eve28', 'eve29'])
  // Also if each of its chats is smaller than those of others.
  const texts = new WaitingRuns(50, 1000, 100_000)
  texts.put('ada', pending('c1', 'x'.repeat(30_000)), { client: 'ada' })
  for (const id of chats) texts.put(id, pending('c1', 'x'.repeat(21_000)), { client: 'eve' })
  expect(idsIn(texts, 'ada', ...chats)).toEqual(['ada', 'eve27', 'eve28', 'eve29'])
})
