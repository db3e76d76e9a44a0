import { expect, it } from 'vitest'
import { responseSchema } from '../../../providers/cohere/responseSchema.ts'
import type { JsonObject } from '../../../src/messages/json.ts'

it('drops the limits Cohere refuses, wherever they stand', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      age: { type: 'integer', minimum: 0, maximum: 150, description: 'years' },
      tags: { type: 'array', minItems: 1, items: { type: 'string', maxLength: 9 } },
    },
    required: ['age'],
    additionalProperties: false,
  }
  expect(responseSchema(schema)).toEqual({
    type: 'object',
    properties: {
      age: { type: 'integer', description: 'years' },
      tags: { type: 'array', items: { type: 'string' } },
    },
    required: ['age'],
    additionalProperties: false,
  })
})

it('keeps fields that are only named like a keyword', () => {
  const schema = { type: 'object', properties: { minimum: { type: 'number' } }, required: ['minimum'] }
  expect(responseSchema(schema)).toEqual(schema)
})

it('keeps the formats and patterns Cohere knows and drops the others', () => {
  const strings = (inner: JsonObject) => ({ type: 'object', properties: { a: inner }, required: ['a'] })
  expect(responseSchema(strings({ type: 'string', format: 'uuid', pattern: '[0-9]+' }))).toEqual(
    strings({ type: 'string', format: 'uuid', pattern: '[0-9]+' }),
  )
  expect(responseSchema(strings({ type: 'string', format: 'email', pattern: '^a$' }))).toEqual(
    strings({ type: 'string' }),
  )
})

it('requires every field of an object that requires none', () => {
  const schema = { type: 'object', properties: { a: {}, inner: { type: 'object', properties: { b: {} } } } }
  expect(responseSchema(schema)).toEqual({
    type: 'object',
    properties: { a: {}, inner: { type: 'object', properties: { b: {} }, required: ['b'] } },
    required: ['a', 'inner'],
  })
})

it('says oneOf as anyOf, keeps references and joins allOf', () => {
  const schema = {
    type: 'object',
    properties: { shape: { oneOf: [{ $ref: '#/$defs/circle' }, { type: 'null' }] } },
    required: ['shape'],
    allOf: [{ properties: { id: { type: 'string', minLength: 1 } }, required: ['id'] }],
    $defs: { circle: { type: 'object', properties: { r: { type: 'number', minimum: 0 } }, required: ['r'] } },
  }
  expect(responseSchema(schema)).toEqual({
    type: 'object',
    properties: {
      shape: { anyOf: [{ $ref: '#/$defs/circle' }, { type: 'null' }] },
      id: { type: 'string' },
    },
    required: ['shape', 'id'],
    $defs: { circle: { type: 'object', properties: { r: { type: 'number' } }, required: ['r'] } },
  })
})
