/** Answers whose schema is not one object are asked for as the `value` of one. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { openaiDialect } from '../../providers/wire/schemaDialects.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { compileSchema } from '../../src/tools/schema.ts'
import { readAnswer, wireSchemaOf } from '../../src/tools/typedAnswer.ts'

const wireOf = (schema: z.ZodType) => wireSchemaOf(compileSchema(schema, 'The answer'))

it.each([
  ['a list', z.array(z.string()), true],
  ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), true],
  ['an object', z.object({ a: z.string() }), false],
  ['a map', z.record(z.string(), z.string()), false],
])('%s', (_, schema, isWrapped) => {
  expect(wireOf(schema).isWrapped).toBe(isWrapped)
})

it('an object with a union beside it', () => {
  const jsonSchema = { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] }
  expect(wireSchemaOf(compileSchema({ jsonSchema }, 'The answer')).isWrapped).toBe(true)
})

it('a recursive union refers to itself, not to what it is wrapped in', async () => {
  const list: z.ZodType = z.union([
    z.null(),
    z.object({
      get next() {
        return list
      },
    }),
  ])
  const wire = wireOf(list)
  const sent = toDialect(wire.jsonSchema, openaiDialect)
  expect(sent.$defs).toMatchObject({
    root: { anyOf: [{ type: 'null' }, { properties: { next: { $ref: '#/$defs/root' } } }] },
  })
  expect(await readAnswer('{"value":{"next":{"next":null}}}', wire)).toMatchObject({ problem: '' })
})
