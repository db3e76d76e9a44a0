/** Callers that wait for news of a run are woken by it, and the process stays alive while there are any. */
import { expect, test, vi } from 'vitest'
import { Poll } from '../../src/durable/Poll.ts'
import { Watch } from '../../src/durable/Watch.ts'

/** A watch, what it said about callers that wait, and which of its callers were woken. */
const watched = () => {
  const holds: boolean[] = []
  const woken: string[] = []
  const watch = new Watch((isHeld) => holds.push(isHeld))
  const wait = (name: string, run: number, signal?: AbortSignal) =>
    watch.next(run, signal).then(() => woken.push(name))
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return { watch, holds, woken, wait, settled }
}

test('those who wait for a run are woken by its news alone, once', async () => {
  const { watch, holds, woken, wait, settled } = watched()
  wait('a', 1)
  wait('b', 1)
  wait('c', 2)
  expect(holds).toEqual([true])
  watch.tell(3)
  watch.tell(1)
  await settled()
  expect(woken).toEqual(['a', 'b'])
  expect(holds).toEqual([true])
  watch.tell(1)
  watch.tell(2)
  await settled()
  expect(woken).toEqual(['a', 'b', 'c'])
  expect(holds).toEqual([true, false])
  wait('d', 1)
  wait('e', 2)
  watch.tellAll()
  await settled()
  expect(woken).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(holds).toEqual([true, false, true, false])
})

test('a caller that no longer waits is let go, and the others wait on', async () => {
  const { watch, holds, woken, wait, settled } = watched()
  const left = new AbortController()
  wait('a', 1, left.signal)
  wait('b', 1)
  left.abort()
  await settled()
  expect(woken).toEqual(['a'])
  expect(holds).toEqual([true])
  wait('late', 1, left.signal)
  await settled()
  expect(woken).toEqual(['a', 'late'])
  watch.tell(1)
  await settled()
  expect(woken).toEqual(['a', 'late', 'b'])
  expect(holds).toEqual([true, false])
})

test('a signal that outlives its waits keeps none of them', async () => {
  const { watch, wait, settled } = watched()
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  wait('a', 1, signal)
  watch.tell(1)
  await settled()
  expect(removed.mock.calls[0]).toEqual(added.mock.calls[0])
})

test('those who wait again when they are woken wait for the next news', async () => {
  const { watch, holds, settled } = watched()
  let news = 0
  const again = async () => {
    for (;;) {
      await watch.next(1)
      news += 1
    }
  }
  again()
  again()
  for (const expected of [2, 4]) {
    watch.tell(1)
    await settled()
    expect(news).toBe(expected)
  }
  expect(holds).toEqual([true, false, true, false, true])
})

test('a poll keeps its process alive while a caller waits, and ends when it is stopped', () => {
  vi.useFakeTimers()
  try {
    let looks = 0
    const timer = vi.spyOn(globalThis, 'setInterval')
    const poll = new Poll(() => {
      looks += 1
    }, 20)
    const { value } = timer.mock.results[0] as { value: NodeJS.Timeout }
    const states = [value.hasRef()]
    for (const isHeld of [true, true, false, false, true]) {
      poll.hold(isHeld)
      states.push(value.hasRef())
    }
    expect(states).toEqual([false, true, true, true, false, true])
    vi.advanceTimersByTime(60)
    expect(looks).toBe(3)
    poll.stop()
    vi.advanceTimersByTime(60)
    expect(looks).toBe(3)
  } finally {
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
})
