import { describe, expect, it } from 'vitest'
import { truncated } from '../../../providers/wire/decoder.ts'
import {
  arrayAt,
  BadWireJson,
  hasOnly,
  numberAt,
  objectAt,
  parseWireObject,
  stringAt,
} from '../../../providers/wire/json.ts'

const invalid = (data: string) => ({
  name: 'ModelError',
  message: `The provider sent an event that is not valid JSON: ${data}`,
  code: 'invalid_json',
  retryable: true,
})

describe('the data of an event', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    [' \n{"a":1} ', { a: 1 }],
    ['{}', {}],
    ['', undefined],
    [' \n', undefined],
    [':', undefined],
    ['  : keep-alive', undefined],
    ['null', undefined],
    ['[{"a":1}]', undefined],
    ['"a"', undefined],
    ['1', undefined],
  ])('%j', (data, expected) => {
    expect(parseWireObject(data)).toEqual(expected)
  })

  it.each(['{', 'x: 1', '{"a":1}}', 'data: {}'])('that is not JSON: %j', (data) => {
    const bad = parseWireObject(data)
    expect(bad).toBeInstanceOf(BadWireJson)
    expect((bad as BadWireJson).error).toEqual(invalid(data))
  })

  it.each([
    [255, 'object'],
    [256, 'error'],
  ])('that is %d lists deep inside its object', (depth, expected) => {
    const data = `{"a":${'['.repeat(depth)}${']'.repeat(depth)},"pad":"${'x'.repeat(600)}"}`
    const read = parseWireObject(data)
    expect(read instanceof BadWireJson ? 'error' : typeof read).toBe(expected)
    if (read instanceof BadWireJson)
      expect(read.error).toEqual({
        ...invalid(data),
        message: `The provider sent an event that nests deeper than 256 levels: ${data}`,
      })
  })
})

describe('a field', () => {
  const object = { text: '', number: 0, object: {}, list: [], flag: false, nothing: null }

  it.each([
    ['text', stringAt, ''],
    ['number', numberAt, 0],
    ['object', objectAt, {}],
    ['list', arrayAt, []],
  ])('%s is read as what it is, and nothing else is', (own, read, expected) => {
    for (const key of [...Object.keys(object), 'missing'])
      expect(read(object, key)).toEqual(key === own ? expected : undefined)
    expect(read(undefined, own)).toBeUndefined()
  })
})

it.each([
  [{}, true],
  [{ a: 1 }, true],
  [{ a: 1, b: null }, true],
  [{ a: 1, b: 0 }, false],
  [{ b: null, c: '' }, false],
])('of %j only "a" is there: %s', (object, expected) => {
  expect(hasOnly(object, new Set(['a']))).toBe(expected)
})

it('a stream that broke off may be tried again', () => {
  expect(truncated('the end')).toEqual({
    name: 'ModelError',
    message: 'The stream ended before it was complete: the end never came.',
    code: 'truncated',
    retryable: true,
  })
})
