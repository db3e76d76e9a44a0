import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasRecordings, missingRecordings } from '../recordings/recordings.ts'
import { decode } from './decoding.ts'
import { sampled } from './sample.ts'
import { fixtures, recordings, type Subject } from './subjects.ts'

// However an answer's bytes are cut into network reads, it means the same: the same deltas in the same order, and so
// the same chunks, messages and result.

if (!hasRecordings) console.log(missingRecordings)

const subjects = [...fixtures, ...sampled(recordings, 0.4)]
const isSmall = ({ body }: Subject): boolean => body.length <= 1500

/** Sets of places to cut at: few and many of them, and bursts of single bytes. */
const cutsOf = ({ body }: Subject): fc.Arbitrary<number[]> => {
  const place = fc.integer({ min: 0, max: body.length })
  const scattered = fc.uniqueArray(place, { maxLength: 40 })
  const burst = fc
    .tuple(place, fc.integer({ min: 2, max: 30 }))
    .map(([from, count]) => Array.from({ length: count }, (_, at) => Math.min(body.length, from + at)))
  return fc.oneof(scattered, burst).map((cuts) => cuts.toSorted((a, b) => a - b))
}

const lineEnds: [string, (text: string) => string][] = [
  ['as it is', (text) => text],
  ['with CRLF', (text) => text.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n')],
  ['with a byte order mark', (text) => `\uFEFF${text}`],
]

describe.each(lineEnds)('%s', (_, rewritten) => {
  const written = subjects.map((subject) => ({
    ...subject,
    body: Buffer.from(rewritten(subject.body.toString())),
  }))

  test('every single cut of a small answer gives the same deltas', () => {
    for (const subject of written.filter(isSmall)) {
      const whole = decode(subject, subject.body)
      for (let at = 0; at <= subject.body.length; at += 1) {
        const cut = decode(subject, subject.body, [at])
        if (JSON.stringify(cut) !== JSON.stringify(whole))
          expect({ id: subject.id, at, ...cut }).toEqual({ id: subject.id, at, ...whole })
      }
    }
  }, 180_000)

  test('any set of cuts of any answer gives the same deltas', () => {
    for (const subject of written) {
      const whole = JSON.stringify(decode(subject, subject.body))
      const property = fc.property(cutsOf(subject), (cuts) => {
        if (JSON.stringify(decode(subject, subject.body, cuts)) !== whole)
          throw new Error(`${subject.id} reads otherwise when it is cut at ${cuts}.`)
      })
      fc.assert(property, { numRuns: subject.body.length > 20_000 ? 10 : 40 })
    }
  }, 180_000)
})
