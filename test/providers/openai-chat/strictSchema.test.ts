import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { isStrictSchema } from '../../../providers/openai-chat/strictSchema.ts'
import type { JsonObject } from '../../../src/messages/json.ts'

const closed = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

describe('a schema is marked strict', () => {
  it('when every object is closed and every property is required', () => {
    expect(isStrictSchema(closed({}))).toBe(true)
    const nested = closed({
      list: { type: 'array', items: closed({ n: { type: ['number', 'null'] } }), maxItems: 3 },
      either: { anyOf: [{ type: 'string', format: 'date' }, { $ref: '#/$defs/thing' }] },
      word: { enum: ['a', 'b'], description: 'one of two' },
    })
    expect(isStrictSchema({ ...nested, $defs: { thing: closed({ x: { const: 1 } }) } })).toBe(true)
  })

  it('when it is what zod makes of a plain object', () => {
    const schema = z.toJSONSchema(z.object({ city: z.string(), days: z.int().nullable() })) as JsonObject
    expect(isStrictSchema(schema)).toBe(true)
  })
})

describe('a schema is left as it is', () => {
  const deep = (levels: number): JsonObject =>
    levels === 0 ? closed({}) : closed({ next: deep(levels - 1) })

  it.each<[string, JsonObject]>([
    ['an optional property', closed({ a: { type: 'string' }, b: { type: 'string' } }, ['a'])],
    ['an open object', { type: 'object', properties: {}, required: [] }],
    ['an open object inside', closed({ a: { type: 'object', properties: {} } })],
    ['an open object in a list', closed({ a: { type: 'array', items: { type: 'object', properties: {} } } })],
    ['an open object among the definitions', { ...closed({}), $defs: { a: { type: 'object' } } }],
    ['a map', closed({ a: { type: 'object', additionalProperties: { type: 'string' } } })],
    ['a list of anything', closed({ a: { type: 'array' } })],
    ['anything at all', closed({ a: {} })],
    ['a length', closed({ a: { type: 'string', minLength: 1 } })],
    ['a default', closed({ a: { type: 'string', default: 'x' } })],
    ['a format that is not enforced', closed({ a: { type: 'string', format: 'uri' } })],
    ['oneOf', closed({ a: { oneOf: [{ type: 'string' }] } })],
    ['anyOf at the top', { ...closed({}), anyOf: [closed({})] }],
    ['a list at the top', { type: 'array', items: { type: 'string' } }],
    ['too many levels', deep(12)],
  ])('with %s', (_, schema) => {
    expect(isStrictSchema(schema)).toBe(false)
  })
})
