/** A stream of events: its bytes, its keep-alives, and the ways in which its reader leaves. Time is moved by hand. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { eventStream, type Outlet, type WriteEvents } from '../../src/ui/eventStream.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
})
afterEach(() => void vi.useRealTimers())

const limits = { keepAliveMs: 1000, maxUnreadBytes: 1024 * 1024 }
const opened = (play: WriteEvents, over: Partial<typeof limits> = {}, signal?: AbortSignal) =>
  eventStream(
    new Request('http://localhost/', { ...(signal && { signal }) }),
    { 'x-kind': 'test' },
    { ...limits, ...over },
    play,
  )

/** A stream that stays open until `finish` is called, and what its writer sees. */
const open = (over: Partial<typeof limits> = {}, signal?: AbortSignal) => {
  let parts: { outlet: Outlet; signal: AbortSignal } | undefined
  let finish = () => {}
  const { body } = opened(
    (outlet, left) => {
      parts = { outlet, signal: left }
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    },
    over,
    signal,
  )
  if (!parts || !body) throw new Error('Nothing was played.')
  const reader = body.getReader()
  const read = async () => new TextDecoder().decode((await reader.read()).value)
  return { ...parts, reader, read, finish: () => finish() }
}

describe('an event stream', () => {
  test('has the headers of one, and its events with and without names', async () => {
    const response = opened(async (outlet) => {
      outlet.send('a')
      outlet.send('b', 'named')
      outlet.send('c', '')
    })
    expect([...response.headers]).toEqual([
      ['cache-control', 'no-cache'],
      ['content-type', 'text/event-stream'],
      ['x-accel-buffering', 'no'],
      ['x-kind', 'test'],
    ])
    expect(await response.text()).toBe(': open\n\ndata: a\n\nevent: named\ndata: b\n\nevent: \ndata: c\n\n')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that breaks breaks for its reader', async () => {
    const { body } = opened(async () => {
      throw new Error('out of paper')
    })
    const reader = body?.getReader()
    await turn()
    await expect(reader?.closed).rejects.toThrow('out of paper')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('shows keep-alives to a reader who has read everything', async () => {
    const { read, finish, reader } = open()
    vi.advanceTimersByTime(1000)
    expect(await read()).toBe(': open\n\n')
    vi.advanceTimersByTime(999)
    vi.advanceTimersByTime(1)
    expect(await read()).toBe(': keep-alive\n\n')
    vi.advanceTimersByTime(1000)
    vi.advanceTimersByTime(5000)
    expect(await read()).toBe(': keep-alive\n\n')
    finish()
    expect(await reader.read()).toEqual({ done: true, value: undefined })
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a reader leaves', () => {
  test('by cancelling: nothing more is written, and the writer learns it', async () => {
    const { outlet, signal, reader, finish } = open()
    expect(signal.aborted).toBe(false)
    await reader.cancel()
    expect([signal.aborted, signal.reason]).toEqual([true, 'the client has left'])
    expect(vi.getTimerCount()).toBe(0)
    expect(() => outlet.send('a')).not.toThrow()
    await outlet.ready()
    finish()
    await turn()
  })

  test('by aborting the request: the stream ends without an error', async () => {
    const leave = new AbortController()
    const { signal, read, reader, outlet, finish } = open({}, leave.signal)
    outlet.send('a')
    leave.abort()
    expect([signal.aborted, signal.reason]).toEqual([true, 'the client has left'])
    expect(vi.getTimerCount()).toBe(0)
    outlet.send('b')
    expect([await read(), await read()]).toEqual([': open\n\n', 'data: a\n\n'])
    expect(await reader.read()).toEqual({ done: true, value: undefined })
    finish()
    await turn()
  })

  test('before it began', async () => {
    const { signal, reader } = open({}, AbortSignal.abort())
    expect(signal.aborted).toBe(true)
    await reader.read()
    expect(await reader.read()).toEqual({ done: true, value: undefined })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('after the end: nothing happens', async () => {
    const leave = new AbortController()
    const { signal, finish, reader } = open({}, leave.signal)
    finish()
    await turn()
    leave.abort()
    expect(signal.aborted).toBe(false)
    await reader.read()
    expect((await reader.read()).done).toBe(true)
  })
})

describe('a reader who does not read', () => {
  // The first line is 8 bytes.
  test('is cut off by the event after the limit, however large the one before was', async () => {
    const { outlet, signal, reader } = open({ maxUnreadBytes: 9 })
    outlet.send('x'.repeat(100))
    expect(signal.aborted).toBe(false)
    outlet.send('y')
    expect([signal.aborted, signal.reason]).toEqual([true, 'the reader was too slow'])
    outlet.send('z')
    await expect(reader.closed).rejects.toThrow('The stream was cut off: the reader was too slow.')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is cut off at the limit', () => {
    const { outlet, signal } = open({ maxUnreadBytes: 8 })
    outlet.send('x')
    expect(signal.aborted).toBe(true)
  })

  const comfortable = 64 * 1024
  /** Leaves so much unread. */
  const filled = (bytes: number, leave?: AbortSignal) => {
    const stream = open({ keepAliveMs: 3_600_000 }, leave)
    stream.outlet.send('x'.repeat(bytes - 16))
    let isReady = false
    const ready = stream.outlet.ready().then(() => {
      isReady = true
    })
    return { ...stream, ready, isReady: () => isReady }
  }

  test('is waited for while more than 64 KiB are unread', async () => {
    await filled(comfortable).ready
    const { ready, isReady, read } = filled(comfortable + 1)
    await turn()
    expect(isReady()).toBe(false)
    await read()
    await ready
  })

  test('is cut off after a minute without reading, and not before', async () => {
    const { isReady, read, signal, ready, outlet } = filled(comfortable + 1000)
    outlet.send('x'.repeat(comfortable))
    await turn()
    vi.advanceTimersByTime(59_999)
    await read()
    await turn()
    expect([isReady(), signal.aborted]).toEqual([false, false])
    vi.advanceTimersByTime(59_999)
    expect(signal.aborted).toBe(false)
    vi.advanceTimersByTime(1)
    expect(signal.reason).toBe('the reader was too slow')
    await ready
    await turn()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is not waited for once it has left', async () => {
    const leave = new AbortController()
    const { ready, isReady } = filled(comfortable + 1, leave.signal)
    await turn()
    expect(isReady()).toBe(false)
    leave.abort()
    await ready
    expect(vi.getTimerCount()).toBe(0)
  })
})
