import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../../src/index.ts'
import { isJsonObject, type JsonObject } from '../../../src/messages/json.ts'
import { systemMessage, userMessage } from '../../../src/messages/messages.ts'
import { loopback } from '../../loopback.ts'
import { helloFrom } from '../../presets/helloAnswers.ts'
import { bodyOf, targetFor } from './wire.ts'

const schemaOf = (type: z.ZodType): JsonObject => {
  const schema: unknown = JSON.parse(JSON.stringify(z.toJSONSchema(type)))
  return isJsonObject(schema) ? schema : {}
}

const request = (schema: z.ZodType, model = 'claude-sonnet-4-5') =>
  bodyOf(
    { messages: [systemMessage('Be exact.'), userMessage('hi')], outputSchema: schemaOf(schema) },
    targetFor(model),
  )

describe('typed output', () => {
  it('is asked for in the dialect of the API: closed objects, bounds as remarks', () => {
    const golden = {
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: {
            name: { type: 'string', description: 'Full name (minLength: 1, maxLength: 80)' },
            age: { type: 'integer', description: '(exclusiveMinimum: 0)' },
            mail: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
            tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1 },
          },
          required: ['name', 'age', 'mail', 'tags'],
          additionalProperties: false,
        },
      },
    } satisfies MessageCreateParamsStreaming['output_config']
    const person = z.object({
      name: z.string().min(1).max(80).describe('Full name'),
      age: z.int().positive(),
      mail: z.email().nullable(),
      tags: z.array(z.enum(['a', 'b'])).min(1),
    })
    const body = request(person)
    expect(body.output_config).toEqual(golden)
    expect(body.system).toBe('Be exact.')
  })

  it('closes objects that generators leave open, at every depth', () => {
    const inner = { type: 'object', properties: { x: { type: 'number' } } }
    const outputSchema = {
      type: 'object',
      properties: { list: { type: 'array', items: inner }, one: { $ref: '#/$defs/inner' } },
      $defs: { inner },
    }
    const body = bodyOf({ messages: [userMessage('hi')], outputSchema })
    expect(JSON.stringify(body.output_config).match(/"additionalProperties":false/g)).toHaveLength(3)
  })

  it('is sent beside the effort', () => {
    const body = bodyOf(
      { messages: [userMessage('hi')], outputSchema: schemaOf(z.object({})), thinking: { effort: 'high' } },
      targetFor('claude-opus-5-5'),
    )
    expect(body.output_config).toMatchObject({ effort: 'high', format: { type: 'json_schema' } })
  })

  const tree: z.ZodType = z.object({
    get children() {
      return z.array(tree)
    },
  })
  it.each([
    ['a record', z.object({ prices: z.record(z.string(), z.number()) })],
    ['a value of any type', z.object({ value: z.any() })],
    ['a recursive type', tree],
    ['a tuple', z.object({ pair: z.tuple([z.string(), z.number()]) })],
  ])('is described in the prompt where the dialect cannot say it: %s', (_, schema) => {
    const body = request(schema)
    expect(body).not.toHaveProperty('output_config')
    expect(body.system).toBe('Be exact.')
    expect(body.messages).toMatchObject([
      { content: [{ text: 'hi' }, { text: expect.stringContaining(JSON.stringify(schemaOf(schema))) }] },
    ])
  })

  it.each([
    'The compiled grammar is too large, which would cause performance issues.',
    'Schemas contains too many optional parameters (25), which would make grammar compilation inefficient.',
    'Schemas contains too many parameters with union types (24 parameters with type arrays or anyOf).',
  ])('is asked for again in words where the API says: %s', async (message) => {
    const { url, requests } = await loopback(({ body }) =>
      isJsonObject(body) && body.output_config
        ? { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message } } }
        : { body: helloFrom('anthropic').replace('hello', '{\\"a\\":\\"b\\"}') },
    )
    const agent = new Agent('anthropic:claude-sonnet-5', { baseUrl: url, apiKey: 'k', system: 'Be exact.' })
    const { output } = await agent.sendFor('Go', z.object({ a: z.string() }))
    expect(output).toEqual({ a: 'b' })
    expect(requests).toHaveLength(2)
    expect(requests[1]?.body).toMatchObject({
      system: [{ text: 'Be exact.' }],
      messages: [
        { content: [{ text: 'Go' }, { text: expect.stringMatching(/^Answer with nothing but JSON/) }] },
      ],
    })
  })

  it('is described in the prompt to models without native schemas', () => {
    const body = request(z.object({ a: z.string() }), 'claude-sonnet-4-0')
    expect(body).not.toHaveProperty('output_config')
    expect(body.system).toBe('Be exact.')
    expect(JSON.stringify(body.messages)).toContain('Answer with nothing but JSON')
  })
})
