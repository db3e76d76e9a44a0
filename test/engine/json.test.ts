import { describe, expect, test } from 'vitest'
import { copyJson, isJsonObject, ownValue, stableJson } from '../../src/messages/json.ts'

describe('JSON in which the order of keys does not count', () => {
  test('is the same for the same data, at every depth', () => {
    expect(stableJson({ b: [{ z: 1, y: 2 }], a: null, c: 'x' })).toBe(
      '{"a":null,"b":[{"y":2,"z":1}],"c":"x"}',
    )
    expect(stableJson({ c: 'x', a: null, b: [{ y: 2, z: 1 }] })).toBe(
      '{"a":null,"b":[{"y":2,"z":1}],"c":"x"}',
    )
  })

  test('differs for other data, and where the order of a list does', () => {
    expect(stableJson([1, 2])).not.toBe(stableJson([2, 1]))
    expect(stableJson({ a: 1 })).not.toBe(stableJson({ a: 1, b: null }))
  })

  test('is a text for what JSON cannot hold', () => {
    expect(stableJson(undefined)).toBe('undefined')
  })
})

describe('a copy', () => {
  const hidden = JSON.parse('{"__proto__":{"isAdmin":true},"a":1}')

  test.each([
    [null, null],
    ['text', 'text'],
    [true, true],
    [1.5, 1.5],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [
      [1, undefined, null],
      [1, null, null],
    ],
    [{ a: undefined, b: 1 }, { b: 1 }],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [{ toJSON: () => ({ a: [new Date(0)] }) }, { a: ['1970-01-01T00:00:00.000Z'] }],
    [{ toJSON: 'not a function' }, { toJSON: 'not a function' }],
  ])('of %j holds %j', (value, copy) => {
    expect(copyJson(value)).toEqual(copy)
  })

  test('shares nothing with the original', () => {
    const original = { list: [{ a: 1 }] }
    const copy = copyJson(original)
    original.list.push({ a: 2 })
    expect(copy).toEqual({ list: [{ a: 1 }] })
  })

  test('keeps a key that would change the prototype as a key', () => {
    const copy = copyJson(hidden) as object
    expect(Object.keys(copy)).toEqual(['__proto__', 'a'])
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect('isAdmin' in copy).toBe(false)
    expect(JSON.stringify(copy)).toBe(JSON.stringify(hidden))
  })

  test.each([
    [undefined, 'undefined, which JSON cannot hold'],
    [() => {}, 'a function, which JSON cannot hold'],
    [Symbol('s'), 'a symbol, which JSON cannot hold'],
    [{ a: [1n] }, 'a bigint, which JSON cannot hold'],
  ])('of %s is refused', (value, reason) => {
    expect(() => copyJson(value)).toThrow(new TypeError(reason))
  })

  test('is as deep as data may be, and not deeper', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'end' : [nested(levels - 1)])
    expect(copyJson(nested(256))).toEqual(nested(256))
    expect(() => copyJson(nested(258))).toThrow('nests deeper than 256 levels')
  })
})

test.each([
  [{}, true],
  [{ a: 1 }, true],
  [[], false],
  [null, false],
  ['{}', false],
  [undefined, false],
])('whether %j is an object is %s', (value, is) => {
  expect(isJsonObject(value)).toBe(is)
})

test('a key is looked up in the object itself', () => {
  expect(ownValue({ a: 1 }, 'a')).toBe(1)
  expect(ownValue({ a: 1 }, 'toString')).toBeUndefined()
  expect(ownValue({}, '__proto__')).toBeUndefined()
})
