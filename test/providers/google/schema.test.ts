import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { geminiParameters, geminiSchema } from '../../../providers/google/schema.ts'
import type { JsonObject } from '../../../src/messages/json.ts'

describe('a schema for Gemini', () => {
  it('keeps what Gemini documents and drops the rest', () => {
    expect(
      geminiSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        $id: 'x',
        type: 'object',
        title: 'T',
        description: 'D',
        properties: {
          tags: { type: 'array', items: { type: 'string' }, minItems: 1, uniqueItems: true },
          size: { type: ['number', 'null'], minimum: 0, multipleOf: 2, default: 4 },
        },
        patternProperties: { '^x': {} },
        required: ['tags', 'gone'],
        additionalProperties: false,
        examples: [{}],
      }),
    ).toEqual({
      type: 'object',
      title: 'T',
      description: 'D',
      properties: {
        tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
        size: { type: ['number', 'null'], minimum: 0, default: 4 },
      },
      required: ['tags'],
      additionalProperties: false,
    })
  })

  it.each([
    [{ const: 'a' }, { type: 'string', enum: ['a'] }],
    [
      { const: 3, type: 'integer' },
      { type: 'integer', enum: [3] },
    ],
    [{ const: true }, { type: 'boolean' }],
    [{ const: null }, { type: 'null' }],
    [{ enum: ['a', 'b', null] }, { type: ['string', 'null'], enum: ['a', 'b'] }],
    [{ enum: ['a', false] }, { type: ['string', 'boolean'] }],
    [
      { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 },
      { type: 'integer', minimum: 1, maximum: 9 },
    ],
    [
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'number', minimum: 0 },
    ],
    [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    [
      { type: 'string', format: 'email', pattern: '^.+@', description: 'Contact' },
      { type: 'string', description: 'Contact (format: email)' },
    ],
    [
      { type: 'string', pattern: '^[A-Z]$' },
      { type: 'string', description: '(pattern: ^[A-Z]$)' },
    ],
    [
      { type: 'array', items: [{ type: 'string' }] },
      { type: 'array', prefixItems: [{ type: 'string' }] },
    ],
    [
      { type: 'object', additionalProperties: { const: 1 } },
      { type: 'object', additionalProperties: { type: 'number', enum: [1] } },
    ],
  ] satisfies [JsonObject, JsonObject][])('says %j as %j', (schema, wire) => {
    expect(geminiSchema(schema)).toEqual(wire)
  })

  it('has unions as anyOf, with nothing but annotations beside it', () => {
    expect(
      geminiSchema({
        description: 'Either',
        type: 'object',
        properties: { kind: { type: 'string' } },
        oneOf: [{ required: ['kind'] }, { properties: { other: { type: 'null' } } }],
      }),
    ).toEqual({
      description: 'Either',
      anyOf: [
        { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] },
        { type: 'object', properties: { kind: { type: 'string' }, other: { type: 'null' } } },
      ],
    })
  })

  it('joins allOf into one schema', () => {
    expect(
      geminiSchema({
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'string' } }, required: ['b'] },
        ],
        description: 'Both',
      }),
    ).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a', 'b'],
      description: 'Both',
    })
  })

  it('writes references out, with what stands beside them', () => {
    expect(
      geminiSchema({
        type: 'object',
        properties: {
          home: { $ref: '#/$defs/place', description: 'Where you live' },
          work: { $ref: '#/properties/home' },
          lost: { $ref: 'https://elsewhere.test/schema' },
        },
        $defs: { place: { type: 'string', description: 'A place' } },
      }),
    ).toEqual({
      type: 'object',
      properties: {
        home: { type: 'string', description: 'Where you live' },
        work: { type: 'string', description: 'Where you live' },
        lost: {},
      },
    })
  })

  it('ends recursion after two rounds', () => {
    const tree = z.object({
      name: z.string(),
      get children() {
        return z.array(tree)
      },
    })
    const text = JSON.stringify(geminiSchema(JSON.parse(JSON.stringify(z.toJSONSchema(tree)))))
    expect(text.match(/"name"/g)?.length).toBeLessThan(8)
    expect(text).not.toContain('$ref')
    expect(text).toContain('"items":{"type":"object"}')
  })

  it('stays small however densely types refer to each other', () => {
    const names = Array.from({ length: 12 }, (_, n) => `t${n}`)
    const every = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]))
    const $defs = Object.fromEntries(names.map((name) => [name, { type: 'object', properties: every }]))
    expect(JSON.stringify(geminiSchema({ $ref: '#/$defs/t0', $defs })).length).toBeLessThan(500_000)
  })

  it('carries a property named __proto__ without touching any prototype', () => {
    const schema = JSON.parse(
      '{"allOf":[{"properties":{"__proto__":{"type":"string"}}},{"properties":{"a":{}}}]}',
    )
    const converted = geminiSchema(schema)
    expect(JSON.stringify(converted)).toBe('{"properties":{"__proto__":{"type":"string"},"a":{}}}')
    expect(Object.getPrototypeOf(converted.properties)).toBe(Object.prototype)
  })
})

describe('the parameters of a tool', () => {
  it('are an object even when the schema does not say so', () => {
    expect(geminiParameters({})).toEqual({ type: 'object' })
  })

  it('are one object when the schema is a union of objects', () => {
    expect(
      geminiParameters({
        anyOf: [
          {
            type: 'object',
            properties: { kind: { const: 'a' }, x: { type: 'string' } },
            required: ['kind', 'x'],
          },
          { type: 'object', properties: { kind: { const: 'b' } }, required: ['kind'] },
        ],
      }),
    ).toEqual({
      type: 'object',
      properties: {
        kind: {
          anyOf: [
            { type: 'string', enum: ['a'] },
            { type: 'string', enum: ['b'] },
          ],
        },
        x: { type: 'string' },
      },
      required: ['kind'],
    })
  })
})
