/** Callers that wait for a change of a run are woken by it, and the process stays alive while there are any. */
import { expect, test, vi } from 'vitest'
import { Poll, RunSignal } from '../../src/durable/sqlite/RunSignal.ts'

/** A signal, what it reported about callers that wait, and which of its callers were woken. */
const watched = () => {
  const holds: boolean[] = []
  const woken: string[] = []
  const changes = new RunSignal((isHeld) => holds.push(isHeld))
  const wait = (name: string, run: number, signal?: AbortSignal) =>
    changes.next(run, signal).then(() => woken.push(name))
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return { changes, holds, woken, wait, settled }
}

test('callers that wait for a run are woken by its changes alone, once', async () => {
  const { changes, holds, woken, wait, settled } = watched()
  wait('a', 1)
  wait('b', 1)
  wait('c', 2)
  expect(holds).toEqual([true])
  changes.notify(3)
  changes.notify(1)
  await settled()
  expect(woken).toEqual(['a', 'b'])
  expect(holds).toEqual([true])
  changes.notify(1)
  changes.notify(2)
  await settled()
  expect(woken).toEqual(['a', 'b', 'c'])
  expect(holds).toEqual([true, false])
  wait('d', 1)
  wait('e', 2)
  changes.notifyAll()
  await settled()
  expect(woken).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(holds).toEqual([true, false, true, false])
})

test('a caller that no longer waits is let go, and the others wait on', async () => {
  const { changes, holds, woken, wait, settled } = watched()
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
  changes.notify(1)
  await settled()
  expect(woken).toEqual(['a', 'late', 'b'])
  expect(holds).toEqual([true, false])
})

test('a signal that outlives its waits keeps none of them', async () => {
  const { changes, wait, settled } = watched()
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  wait('a', 1, signal)
  changes.notify(1)
  await settled()
  expect(removed.mock.calls[0]).toEqual(added.mock.calls[0])
})

test('callers that wait again when they are woken wait for the next change', async () => {
  const { changes, holds, settled } = watched()
  let wakes = 0
  const again = async () => {
    for (;;) {
      await changes.next(1)
      wakes += 1
    }
  }
  again()
  again()
  for (const expected of [2, 4]) {
    changes.notify(1)
    await settled()
    expect(wakes).toBe(expected)
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
    // In this order: a spy puts back what it found, which is the fake timer.
    vi.restoreAllMocks()
    vi.useRealTimers()
  }
})
