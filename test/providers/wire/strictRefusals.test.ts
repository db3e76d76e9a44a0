/** A server that takes strict schemas only: it is learnt from its refusal, for tools and for answers. */
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { answerOn, ask, openai } from './refusingServer.ts'

const place = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    stops: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
  },
}
const tools = [{ name: 'search', description: 'Searches.', inputSchema: place }]

/** Every schema of a body, and whether it is strict. */
const schemasIn = ({ tools = [], response_format, text }: Record<string, unknown>): unknown[] =>
  [
    ...[tools].flat().map((tool) => Object(tool).function ?? tool),
    ...[Object(response_format).json_schema, Object(text).format].filter((each) => each !== undefined),
  ].map((each) => [each.strict ?? false, each.parameters ?? each.schema])

const strict = [
  true,
  {
    type: 'object',
    properties: {
      city: { type: 'string' },
      stops: {
        type: 'array',
        items: {
          type: 'object',
          properties: { name: { type: 'string' } },
          required: ['name'],
          additionalProperties: false,
        },
      },
    },
    required: ['city', 'stops'],
    additionalProperties: false,
  },
]

describe('a server that takes strict schemas only', () => {
  it.each<[string, string, Partial<ModelRequest>, string]>([
    ['a tool', 'openai:my-model', { tools }, "Invalid tool: 'search' requires strict to be true."],
    ['a tool', 'openai:my-model', { tools }, 'tools[0].function.strict: must be true'],
    [
      'a tool',
      'openai-responses:my-model',
      { tools },
      "Function tools require 'strict' to be true on this endpoint.",
    ],
    ['a tool', 'openai:my-model', { tools }, 'Only strict function tools are supported, set `strict: true`.'],
    [
      'an answer',
      'openai:my-model',
      { outputSchema: place },
      "response_format 'json_schema' requires strict to be true",
    ],
    [
      'an answer',
      'openai-responses:my-model',
      { outputSchema: place },
      'text.format.strict must be set to true',
    ],
  ])('gets them for %s of %s: %s', async (_, model, request, message) => {
    const [provider = ''] = model.split(':')
    const server = await loopback(({ body }) =>
      schemasIn(body).every((each) => JSON.stringify(each).startsWith('[true'))
        ? answerOn(provider)
        : { status: 400, body: openai(message) },
    )
    const first = await ask(model, server, request)
    expect(first.error).toBe('')
    expect(server.requests).toHaveLength(2)
    expect(schemasIn(server.requests[1]?.body ?? {})).toEqual([strict])
    expect(first.warnings).toMatchObject([{ setting: 'strict', refusal: expect.stringContaining('strict') }])

    const second = await ask(model, server, request)
    expect(second.error).toBe('')
    expect(server.requests).toHaveLength(3)
  })

  it('is asked once where the schemas are strict already', async () => {
    const server = await loopback(() => ({
      status: 400,
      body: openai("Invalid tool: 'search' requires strict to be true."),
    }))
    const closed = { type: 'object', properties: {}, required: [], additionalProperties: false }
    const { error } = await ask('openai-responses:my-model', server, {
      tools: [{ name: 'search', description: 'Searches.', inputSchema: closed }],
    })
    expect(error).toContain('requires strict')
    expect(server.requests).toHaveLength(1)
  })
})
