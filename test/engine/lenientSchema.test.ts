import { describe, expect, test } from 'vitest'
import { tool } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'

// Tools are described by schemas of many makers; what a validator cannot make sense of must not block the tool.

const accepts = async (schema: JsonObject, args: JsonObject): Promise<boolean> => {
  const made = tool({ name: 'x', description: '', input: { jsonSchema: schema }, execute: () => '' })
  return (await made.validate(args)).ok
}

describe('a schema from elsewhere', () => {
  test.each<[string, JsonObject]>([
    ['types in capitals', { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] }],
    [
      'keywords that are null',
      { type: 'object', properties: { a: { type: 'string', enum: null } }, required: null },
    ],
    ['a type nobody knows', { type: 'object', properties: { a: { type: 'str' } } }],
    [
      'a pattern of another language',
      { type: 'object', properties: { a: { type: 'string', pattern: '(?P<x>.)' } } },
    ],
    ['a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
    ['null items', { type: 'object', properties: { a: { type: 'string', items: null } } }],
  ])('with %s accepts what fits the rest', async (_, schema) => {
    expect(await accepts(schema, { a: 'b' })).toBe(true)
  })

  test('that is nullable accepts null, and only then', async () => {
    const schema = (nullable: boolean) => ({
      type: 'object',
      properties: { a: { type: 'string', nullable } },
    })
    expect(await accepts(schema(true), { a: null })).toBe(true)
    expect(await accepts(schema(false), { a: null })).toBe(false)
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
})
