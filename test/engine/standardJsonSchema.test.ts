/** Schemas of other libraries describe tools and answers as they are, if they can write themselves as JSON Schema. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { StandardSchema } from '../../src/tools/schema.ts'
import { tool } from '../../src/tools/tool.ts'

const zod = z.object({ city: z.string(), days: z.number().optional() })
const arktype = type({ city: 'string', 'days?': 'number' })
const valibot = toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number()) }))

const shape = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'number' } },
  required: ['city'],
}

describe.each<[string, StandardSchema<{ city: string; days?: number | undefined }>]>([
  ['zod', zod],
  ['ArkType', arktype],
  ['Valibot', valibot],
])('a schema of %s', (_, schema) => {
  const call = (args: object) => [{ toolCall: { name: 'forecast', arguments: { ...args } } }]

  it('describes the arguments of a tool, and checks them', async () => {
    const asked: unknown[] = []
    const forecast = tool({
      name: 'forecast',
      description: 'The weather of the next days',
      input: schema,
      execute: (args) => {
        asked.push(args)
        return 'rain'
      },
    })
    const model = scriptedModel([call({ city: 'Oslo', days: 2 }), call({ days: 2 }), 'Done.'])
    const { messages } = await new Agent(model, { tools: [forecast] }).send('Oslo?')
    expect(model.requests[0]?.tools?.[0]?.inputSchema).toMatchObject(shape)
    expect(model.requests[0]?.tools?.[0]?.inputSchema).not.toHaveProperty('$schema')
    expect(asked).toEqual([{ city: 'Oslo', days: 2 }])
    expect(messages[4]?.parts).toMatchObject([{ isError: true, result: expect.stringContaining('city') }])
  })

  it('describes a typed answer, and checks it', async () => {
    const model = scriptedModel(['{"city":"Oslo"}'])
    const { output } = await new Agent(model).sendFor('Where?', schema)
    expect(output).toEqual({ city: 'Oslo' })
    expectTypeOf(output.city).toEqualTypeOf<string>()
  })
})

it('is refused with advice where its library cannot write it', () => {
  const odd = toStandardJsonSchema(v.object({ when: v.date() }))
  const make = () => tool({ name: 'x', description: '', input: odd, execute: () => '' })
  expect(make).toThrow(ConfigurationError)
  expect(make).toThrow(
    /^The input of the tool "x" cannot be written as JSON Schema by valibot: .*Pass \{ jsonSchema, schema \} instead\.$/s,
  )
  const bare: StandardSchema = v.object({ city: v.string() })
  expect(() => tool({ name: 'x', description: '', input: bare, execute: () => '' })).toThrow(
    'The input of the tool "x" is a valibot schema without Standard JSON Schema: pass { jsonSchema, schema }',
  )
})
