import { assert, property, uint8Array } from 'fast-check'
import { expect, test } from 'vitest'
import { fromBase64, textFromBase64, toBase64 } from '../../src/messages/base64.ts'

test('bytes become the base64 that Node makes of them, and come back', () => {
  assert(
    property(uint8Array({ maxLength: 20_000 }), (bytes) => {
      const base64 = Buffer.from(bytes).toString('base64')
      expect(toBase64(bytes)).toBe(base64)
      expect(fromBase64(base64)).toEqual(bytes)
      expect(fromBase64(Buffer.from(bytes).toString('base64url'))).toEqual(bytes)
    }),
  )
})

test('line breaks and half a digit group do no harm', () => {
  expect(textFromBase64('aGVs\r\nbG8=\n')).toBe('hello')
  expect(textFromBase64('aGVsbG8hA')).toBe('hello!')
})
