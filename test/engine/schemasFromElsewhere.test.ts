import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigurationError, tool } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { compileSchema } from '../../src/tools/schema.ts'

// Tools are described by schemas of many makers; what a validator cannot make sense of must not block the tool.

const toolOf = (jsonSchema: JsonObject) =>
  tool({ name: 'x', description: '', input: { jsonSchema }, execute: () => '' })

const accepts = async (schema: JsonObject, args: JsonObject): Promise<boolean> =>
  (await toolOf(schema).validate(args)).ok

describe('a schema from elsewhere', () => {
  test.each<[string, JsonObject]>([
    ['types in capitals', { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] }],
    [
      'keywords that are null',
      { type: 'object', properties: { a: { type: 'string', enum: null } }, required: null },
    ],
    ['an unknown type', { type: 'object', properties: { a: { type: 'str' } } }],
    [
      'a pattern of another language',
      { type: 'object', properties: { a: { type: 'string', pattern: '(?P<x>.)' } } },
    ],
    ['null items', { type: 'object', properties: { a: { type: 'string', items: null } } }],
    ['an id twice', { $id: 'urn:x', properties: { a: { $id: 'urn:x', type: 'string' } } }],
  ])('with %s accepts what fits the rest', async (_, schema) => {
    expect(await accepts(schema, { a: 'b' })).toBe(true)
  })

  test('that is nullable accepts null, and only then', async () => {
    const schema = (nullable: boolean) => ({
      type: 'object',
      properties: { a: { type: 'string', nullable }, b: { $ref: '#/properties/a', nullable } },
    })
    expect(await accepts(schema(true), { a: null, b: null })).toBe(true)
    expect(await accepts(schema(false), { a: null })).toBe(false)
    expect(await accepts(schema(false), { b: null })).toBe(false)
  })

  test('in capitals still refuses what does not fit', async () => {
    const schema = { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] }
    expect(await accepts(schema, {})).toBe(false)
    expect(await accepts(schema, { a: 1 })).toBe(false)
  })

  test('may have properties named like keywords', async () => {
    const schema = { type: 'object', properties: { type: { type: 'string' }, pattern: { type: 'string' } } }
    expect(await accepts(schema, { type: 'x', pattern: '(' })).toBe(true)
    expect(await accepts(schema, { type: 1 })).toBe(false)
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['bounds', { properties: { a: { minimum: 0, exclusiveMinimum: true } } }, { a: 0 }],
    [
      'tuples',
      { properties: { a: { items: [{ type: 'string' }], additionalItems: false } } },
      { a: ['b', 1] },
    ],
    [
      'definitions',
      { definitions: { b: { type: 'string' } }, properties: { a: { $ref: '#/definitions/b' } } },
      { a: 1 },
    ],
    ['dependencies', { dependencies: { a: ['b'] } }, { a: 1 }],
    [
      'recursion',
      { properties: { a: { $recursiveRef: '#' } }, additionalProperties: false },
      { a: { b: 1 } },
    ],
  ])('in the words of an older draft keeps its %s', async (_, schema, misfit) => {
    expect(await accepts({ type: 'object', ...schema }, misfit)).toBe(false)
  })
})

describe('a reference', () => {
  const money = { type: 'integer', maximum: 10 }
  test.each<[string, JsonObject]>([
    ['to a definition', { $ref: '#/$defs/money', $defs: { money } }],
    [
      'to a definition with a difficult name',
      { $ref: '#/$defs/my%20%22~1~0money', $defs: { 'my "/~money': money } },
    ],
    ['to a place in the schema', { $ref: '#/properties/amount/x-shared/0', 'x-shared': [money] }],
    ['to an anchor', { $ref: '#cash', $defs: { x: { ...money, $anchor: 'cash' } } }],
    ['to an embedded document', { $ref: 'urn:cash', $defs: { x: { ...money, $id: 'urn:cash' } } }],
    [
      'by the full address',
      { $id: 'https://a.test/b', $ref: 'https://a.test/b#/$defs/money', $defs: { money } },
    ],
    ['through another one', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: money } }],
    ['with company', { $ref: '#/$defs/a', maximum: 10, $defs: { a: { type: 'integer' } } }],
  ])('%s is checked', async (_, amount) => {
    const { $defs, $id, ...rest } = amount
    const top = { ...($defs !== undefined && { $defs }), ...($id !== undefined && { $id }) }
    const document = { type: 'object', properties: { amount: rest }, ...top }
    expect(await accepts(document, { amount: 10 })).toBe(true)
    expect(await accepts(document, { amount: 1e9 })).toBe(false)
  })

  test.each([
    ['#/$defs/none'],
    ['#none'],
    ['https://elsewhere.test/schema.json'],
    ['other.json#/$defs/money'],
    ['#/properties/amount/maximum'],
  ])('to %s, which leads nowhere, is refused when the tool is made', ($ref) => {
    const schema = { type: 'object', properties: { amount: { maximum: 10, allOf: [{ $ref }] } } }
    expect(() => toolOf(schema)).toThrow(ConfigurationError)
    expect(() => toolOf(schema)).toThrow(`The input of the tool "x" refers to "${$ref}", which is not in it.`)
  })

  test('that leads nowhere is refused in the schema of an answer, and beside a validator of one’s own', () => {
    const jsonSchema = { $ref: '#/$defs/none' }
    expect(() => compileSchema({ jsonSchema }, 'The output schema')).toThrow('The output schema refers to')
    expect(() => compileSchema({ jsonSchema, schema: z.any() }, 'The output schema')).toThrow(
      ConfigurationError,
    )
  })

  test('that only leads to itself refuses nothing and does not hang', async () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { $ref: '#/$defs/a' } },
    }
    expect(await accepts(schema, { a: 1 })).toBe(false)
  })
})

describe('a schema that is too much', () => {
  test('says so when it nests too deeply', () => {
    let schema: JsonObject = {}
    for (let level = 0; level < 400; level += 1) schema = { items: schema }
    expect(() => toolOf({ type: 'object', properties: { a: schema } })).toThrow(
      /nests deeper than 256 levels/,
    )
  })

  test('says so when it is too large', () => {
    const properties = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`p${n}`, {}]))
    expect(() => toolOf({ type: 'object', properties })).toThrow(/holds more than 20000 schemas: split it up/)
  })
})

describe('a value that cannot be checked', () => {
  test('does not fit', async () => {
    const made = toolOf({ type: 'object', properties: { a: { type: 'string' } } })
    expect(await made.validate({ a: () => 1 })).toEqual({
      ok: false,
      problem: expect.stringContaining('cannot be checked'),
    })
  })
})
