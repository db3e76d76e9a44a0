import { expect, it } from 'vitest'
import { toolSchema } from '../../../providers/ollama/toolSchema.ts'

it('always is an object with properties, even for a tool without arguments', () => {
  expect(toolSchema({})).toEqual({ type: 'object', properties: {} })
})

it('leaves a plain schema as it is', () => {
  const plain = {
    type: 'object',
    properties: { tags: { type: 'array', items: { type: 'string', description: 'a tag' } } },
    required: ['tags'],
    additionalProperties: false,
  }
  expect(toolSchema(plain)).toEqual(plain)
})

it('writes references out, because the server drops them', () => {
  const schema = {
    type: 'object',
    properties: { home: { $ref: '#/$defs/address', description: 'where' } },
    $defs: { address: { type: 'object', properties: { zip: { $ref: '#/definitions/zip~1code' } } } },
    definitions: { 'zip/code': { type: 'string' } },
  }
  expect(toolSchema(schema)).toEqual({
    type: 'object',
    properties: { home: { type: 'object', properties: { zip: { type: 'string' } }, description: 'where' } },
  })
})

it('follows a reference at the top', () => {
  const schema = { $ref: '#/$defs/input', $defs: { input: { type: 'object', properties: { a: {} } } } }
  expect(toolSchema(schema)).toEqual({ type: 'object', properties: { a: {} } })
})

it('ends a schema that contains itself', () => {
  const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } }
  expect(
    toolSchema({ type: 'object', properties: { head: { $ref: '#/$defs/node' } }, $defs: { node } }),
  ).toEqual({
    type: 'object',
    properties: { head: { type: 'object', properties: { next: { type: 'object' } } } },
  })
  expect(toolSchema({ properties: { self: { $ref: '#' }, lost: { $ref: '#/nowhere' } } }).properties).toEqual(
    {
      self: { type: 'object' },
      lost: { type: 'object' },
    },
  )
})

it('says one value and one of many in the words the server knows', () => {
  const schema = {
    properties: { kind: { const: 'a' }, size: { oneOf: [{ const: 1 }, { type: 'string' }] }, any: true },
  }
  expect(toolSchema(schema).properties).toEqual({
    kind: { enum: ['a'] },
    size: { anyOf: [{ enum: [1] }, { type: 'string' }] },
    any: {},
  })
})

it('joins the parts of an intersection', () => {
  const part = (name: string) => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required: [name],
  })
  expect(toolSchema({ allOf: [part('a'), part('b')] })).toEqual({
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    required: ['a', 'b'],
  })
})

it('keeps a property called __proto__ a property', () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"const":1}}}')
  expect(JSON.stringify(toolSchema(schema).properties)).toBe('{"__proto__":{"enum":[1]}}')
})
