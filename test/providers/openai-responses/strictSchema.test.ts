import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/messages/json.ts'
import { userMessage } from '../../../src/messages/messages.ts'
import { bodyOf } from './responsesFixtures.ts'

const isStrict = (inputSchema: JsonObject) => {
  const body = bodyOf({ messages: [userMessage('Hi')], tools: [{ name: 't', description: '', inputSchema }] })
  return (body.tools as JsonObject[])[0]?.strict
}

const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
})

describe('strict mode', () => {
  it('is on for a schema that fits it as it is', () => {
    const schema = closed(
      {
        name: { type: 'string', description: 'Who' },
        age: { type: ['integer', 'null'], minimum: 0 },
        tags: {
          type: 'array',
          items: { anyOf: [{ type: 'string', format: 'date' }, { $ref: '#/$defs/tag' }] },
        },
        constructor: closed({}),
      },
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        $defs: { tag: closed({ id: { type: 'number' } }) },
      },
    )
    expect(isStrict(schema)).toBe(true)
  })

  it.each<[string, JsonObject]>([
    ['an optional property', closed({ a: { type: 'string' } }, { required: [] })],
    ['an open object', closed({ a: { type: 'string' } }, { additionalProperties: true })],
    ['an open object inside', closed({ a: { type: 'object', properties: {}, required: [] } })],
    ['a union at the root', { anyOf: [closed({})] }],
    ['allOf', closed({ a: { allOf: [{ type: 'string' }] } })],
    ['a default', closed({ a: { type: 'string', default: 'x' } })],
    ['an unknown format', closed({ a: { type: 'string', format: 'uri' } })],
    ['a property of any type', closed({ a: {} })],
    ['an array of anything', closed({ a: { type: 'array' } })],
    [
      'a reference with company',
      closed({ a: { $ref: '#/$defs/b', description: 'x' } }, { $defs: { b: closed({}) } }),
    ],
    ['an open definition', closed({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'object' } } })],
    ['a schema that is just true', closed({ a: true })],
  ])('is off for %s', (_, schema) => {
    expect(isStrict(schema)).toBe(false)
  })
})
