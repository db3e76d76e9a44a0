import { EventStreamCodec } from '@smithy/eventstream-codec'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { eventStreamFraming } from '../../providers/clouds/eventStream.ts'
import type { BodyReader } from '../../src/transport/framing.ts'
import { chunkFrame, frame, saying, streamOf } from './eventStream.ts'

// Frames of AWS: whole whatever the reads they come in, bounded, and linear to put together.

afterEach(() => {
  vi.restoreAllMocks()
})

const contentType = 'application/vnd.amazon.eventstream'

const reader = (onEvent: (data: string) => void, maxEventSize = 1_000_000): BodyReader => {
  const made = eventStreamFraming(EventStreamCodec)({
    contentType,
    maxEventSize,
    secrets: [],
    onEvent: ({ data }) => onEvent(data),
  })
  if (!made) throw new Error('The content type was not taken.')
  return made
}

const events = saying('naïve 你好 🙂')
const expected = events.map((event) => JSON.stringify(event))
const whole = streamOf(events)

describe('frames', () => {
  test('are the same wherever the reads cut them', () => {
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const seen: string[] = []
      const body = reader((data) => seen.push(data))
      expect(body.push(whole.subarray(0, cut))).toBeUndefined()
      expect(body.push(whole.subarray(cut))).toBeUndefined()
      expect(body.end(true)).toBeUndefined()
      expect(seen).toEqual(expected)
    }
  })

  test('are the same byte by byte, and are reported as soon as they are whole', () => {
    const seen: number[] = []
    const body = reader(() => seen.push(at))
    let at = 0
    for (const byte of whole) {
      at += 1
      body.push(Uint8Array.of(byte))
    }
    let sum = 0
    expect(seen).toEqual(events.map((event) => (sum += chunkFrame(event).length)))
  })

  test('of a body that is text are not looked for', () => {
    const framing = eventStreamFraming(EventStreamCodec)
    const options = { maxEventSize: 1000, secrets: [], onEvent: () => {} }
    for (const type of ['text/event-stream', 'application/json', undefined])
      expect(framing({ ...options, contentType: type })).toBeUndefined()
  })

  test('of a kind that is not known are passed over', () => {
    const seen: string[] = []
    const body = reader((data) => seen.push(data))
    const odd = [
      frame({ 'message-type': 'event', 'event-type': 'initial-response' }, {}),
      frame({ 'message-type': 'novelty' }, { bytes: 'AAAA' }),
      frame({}, 'not json'),
    ]
    expect(body.push(Buffer.concat([...odd, whole]))).toBeUndefined()
    expect(seen).toEqual(expected)
  })

  test('that are larger than allowed are refused by their length alone', () => {
    const body = reader(() => {}, 1000)
    expect(body.push(Uint8Array.of(0, 0, 4, 0))).toMatchObject({ code: 'event_too_large' })
    expect(reader(() => {}).push(Uint8Array.of(255, 255, 255, 255))).toMatchObject({
      code: 'event_too_large',
    })
  })

  test('that are too short to be any are refused', () => {
    for (const length of [0, 1, 15])
      expect(reader(() => {}).push(Uint8Array.of(0, 0, 0, length))).toMatchObject({ code: 'invalid_frame' })
  })

  test('with any byte changed report no wrong event', () => {
    for (let place = 0; place < whole.length; place += 3) {
      const seen: string[] = []
      const body = reader((data) => seen.push(data))
      const broken = Uint8Array.from(whole)
      broken[place] = (broken[place] ?? 0) ^ 0x10
      body.push(broken)
      expect(expected.slice(0, seen.length)).toEqual(seen)
      expect(seen.length).toBeLessThan(expected.length)
    }
  })
})

test('a large frame in small reads is put together once: the work grows with the size, not with its square', () => {
  const copied = (size: number): number => {
    const bytes = chunkFrame({ text: 'x'.repeat(size) })
    let count = 0
    const { set } = Uint8Array.prototype
    const spy = vi.spyOn(Uint8Array.prototype, 'set').mockImplementation(function (
      this: Uint8Array,
      from,
      at,
    ) {
      count += from.length
      return set.call(this, from, at)
    })
    const body = reader(() => {}, 10_000_000)
    for (let start = 0; start < bytes.length; start += 100) body.push(bytes.subarray(start, start + 100))
    spy.mockRestore()
    return count / bytes.length
  }
  expect(copied(100_000)).toBeLessThan(3)
  expect(copied(200_000)).toBeLessThan(3)
})
