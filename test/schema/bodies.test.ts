/**
 * Whatever a user writes, every API gets a schema that its own rules take, and one that lets the model say everything
 * that the user's schema accepts.
 */
import { Validator } from '@cfworker/json-schema'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anthropic, anthropicProfile } from '../../providers/anthropic/index.ts'
import { cohere } from '../../providers/cohere/index.ts'
import { geminiProfile, google } from '../../providers/google/index.ts'
import { mistral } from '../../providers/mistral/index.ts'
import { ollama } from '../../providers/ollama/index.ts'
import { openaiChat } from '../../providers/openai-chat/index.ts'
import { openaiResponses } from '../../providers/openai-responses/index.ts'
import { ConfigurationError, tool } from '../../src/index.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { userMessage } from '../../src/messages/messages.ts'
import type { ModelProfile, ModelRequest } from '../../src/model/chatModel.ts'
import { compileSchema } from '../../src/tools/schema.ts'
import { wireSchemaOf } from '../../src/tools/typedAnswer.ts'
import { jsonSchemas } from './jsonSchemas.ts'
import * as rules from './rules.ts'
import { answers, toolInputs } from './zodSchemas.ts'

const abilities: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: false,
  attachments: { images: false, pdf: false, audio: false, links: false },
}

/** The value at a path of a request body, which is known to be an object. */
const at = (value: JsonValue | undefined, ...path: (string | number)[]): JsonObject => {
  let place = value
  for (const step of path)
    place = Array.isArray(place) ? place[Number(step)] : isJsonObject(place) ? place[step] : undefined
  if (!isJsonObject(place)) throw new Error(`There is no object at ${path.join('.')}.`)
  return place
}

type Sent = { schema: JsonObject; violations: string[] } | undefined

type Api = {
  name: string
  tool: (inputSchema: JsonObject) => Sent
  answer: (outputSchema: JsonObject) => Sent
  /** The API demands more than the user does. */
  narrowsAnswers?: boolean
}

const asking = (request: Partial<ModelRequest>): ModelRequest => ({
  messages: [userMessage('hi')],
  ...request,
})
const withTool = (inputSchema: JsonObject) =>
  asking({ tools: [{ name: 't', description: 'Does it', inputSchema }] })

const apis: Api[] = [
  ...(
    [
      ['openai-chat', openaiChat],
      ['mistral', mistral],
    ] as const
  ).map(([name, protocol]): Api => {
    const bodyOf = (request: ModelRequest) =>
      protocol.request(request, { provider: name, model: 'm', profile: abilities }).body
    return {
      name,
      tool: (inputSchema) => {
        const { parameters, strict } = at(bodyOf(withTool(inputSchema)), 'tools', 0, 'function')
        return { schema: at(parameters), violations: rules.openaiViolations(at(parameters), strict === true) }
      },
      answer: (outputSchema) => {
        const { schema, strict } = at(bodyOf(asking({ outputSchema })), 'response_format', 'json_schema')
        return { schema: at(schema), violations: rules.openaiViolations(at(schema), strict === true) }
      },
    }
  }),
  {
    name: 'openai-responses',
    tool: (inputSchema) => {
      const target = { provider: 'openai', model: 'm', profile: abilities }
      const { parameters, strict } = at(
        openaiResponses.request(withTool(inputSchema), target).body,
        'tools',
        0,
      )
      return { schema: at(parameters), violations: rules.openaiViolations(at(parameters), strict === true) }
    },
    answer: (outputSchema) => {
      const target = { provider: 'openai', model: 'm', profile: abilities }
      const body = openaiResponses.request(asking({ outputSchema }), target).body
      const { schema, strict } = at(body, 'text', 'format')
      return { schema: at(schema), violations: rules.openaiViolations(at(schema), strict === true) }
    },
  },
  {
    name: 'compatible servers',
    tool: (inputSchema) => {
      const target = { provider: 'vllm', model: 'm', profile: { ...abilities, strictSchemas: false } }
      const sent = at(openaiChat.request(withTool(inputSchema), target).body, 'tools', 0, 'function')
      expect(sent).not.toHaveProperty('strict')
      return { schema: at(sent.parameters), violations: rules.compatibleViolations(at(sent.parameters)) }
    },
    answer: (outputSchema) => {
      const target = { provider: 'vllm', model: 'm', profile: { ...abilities, strictSchemas: false } }
      const body = openaiChat.request(asking({ outputSchema }), target).body
      const schema = at(body, 'response_format', 'json_schema', 'schema')
      return { schema, violations: rules.compatibleViolations(schema) }
    },
  },
  {
    name: 'anthropic',
    tool: (inputSchema) => {
      const target = { provider: 'anthropic', model: 'm', profile: anthropicProfile('claude-sonnet-5') }
      const schema = at(anthropic.request(withTool(inputSchema), target).body, 'tools', 0, 'input_schema')
      return { schema, violations: rules.anthropicToolViolations(schema) }
    },
    answer: (outputSchema) => {
      const target = { provider: 'anthropic', model: 'm', profile: anthropicProfile('claude-sonnet-5') }
      const { body } = anthropic.request(asking({ outputSchema }), target)
      if (body.output_config === undefined) {
        expect(JSON.stringify(body.messages)).toContain(
          JSON.stringify(JSON.stringify(outputSchema)).slice(1, -1),
        )
        return undefined
      }
      const schema = at(body, 'output_config', 'format', 'schema')
      return { schema, violations: rules.anthropicAnswerViolations(schema) }
    },
  },
  {
    name: 'google',
    tool: (inputSchema) => {
      const target = { provider: 'google', model: 'gemini-3-flash', profile: geminiProfile('gemini-3-flash') }
      const { body } = google.request(withTool(inputSchema), target)
      const schema = at(body, 'tools', 0, 'functionDeclarations', 0, 'parametersJsonSchema')
      return { schema, violations: rules.geminiViolations(schema) }
    },
    answer: (outputSchema) => {
      const target = { provider: 'google', model: 'gemini-3-flash', profile: geminiProfile('gemini-3-flash') }
      const { body } = google.request(asking({ outputSchema }), target)
      const schema = at(body, 'generationConfig', 'responseJsonSchema')
      return { schema, violations: rules.geminiViolations(schema) }
    },
  },
  {
    name: 'ollama',
    tool: (inputSchema) => {
      const target = { provider: 'ollama', model: 'm', profile: abilities }
      const schema = at(
        ollama.request(withTool(inputSchema), target).body,
        'tools',
        0,
        'function',
        'parameters',
      )
      return { schema, violations: rules.ollamaToolViolations(schema) }
    },
    answer: (outputSchema) => {
      const target = { provider: 'ollama', model: 'm', profile: abilities }
      const schema = at(ollama.request(asking({ outputSchema }), target).body, 'format')
      return { schema, violations: rules.compatibleViolations(schema) }
    },
  },
  {
    name: 'cohere',
    narrowsAnswers: true,
    tool: (inputSchema) => {
      const target = { provider: 'cohere', model: 'm', profile: abilities }
      const schema = at(
        cohere.request(withTool(inputSchema), target).body,
        'tools',
        0,
        'function',
        'parameters',
      )
      return { schema, violations: rules.cohereViolations(schema, false) }
    },
    answer: (outputSchema) => {
      const target = { provider: 'cohere', model: 'm', profile: abilities }
      const schema = at(
        cohere.request(asking({ outputSchema }), target).body,
        'response_format',
        'json_schema',
      )
      return { schema, violations: rules.cohereViolations(schema, true) }
    },
  },
]

const problemsOf = (schema: JsonObject, value: unknown) =>
  new Validator(JSON.parse(JSON.stringify(schema)), '2020-12', false).validate(value).errors

describe.each(apis)('$name', ({ tool: toolSchema, answer: answerSchema, narrowsAnswers }) => {
  test('takes every input of a tool, and lets the model say all that the tool accepts', () => {
    fc.assert(
      fc.property(toolInputs, ({ schema, value }) => {
        const sent = toolSchema(compileSchema(schema, 'The input').jsonSchema)
        if (!sent) return
        expect(sent.violations).toEqual([])
        expect(problemsOf(sent.schema, value)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  test('takes every schema of an answer, and lets the model say all that it accepts', () => {
    fc.assert(
      fc.property(answers, ({ schema, value }) => {
        const { jsonSchema, isWrapped } = wireSchemaOf(compileSchema(schema, 'The answer'))
        const sent = answerSchema(jsonSchema)
        if (!sent) return
        expect(sent.violations).toEqual([])
        if (!narrowsAnswers) expect(problemsOf(sent.schema, isWrapped ? { value } : value)).toEqual([])
      }),
      { numRuns: 100 },
    )
  })
})

test.each(apis)('$name takes what is made of a JSON Schema from anywhere', ({ tool: toolSchema }) => {
  fc.assert(
    fc.property(jsonSchemas, (schema) => {
      try {
        const sent = toolSchema(schema)
        expect(sent?.violations).toEqual([])
        expect(JSON.stringify(sent?.schema).length).toBeLessThan(4_000_000)
      } catch (error) {
        // What cannot be resolved, or grows without end, is said clearly.
        if (!(error instanceof ConfigurationError)) throw error
      }
    }),
    { numRuns: 100 },
  )
})

test('what a model sends is checked by the schema that the user wrote, not by the one that was sent', async () => {
  await fc.assert(
    fc.asyncProperty(toolInputs, fc.jsonValue(), async ({ schema, value }, other) => {
      const made = tool({ name: 't', description: '', input: schema, execute: () => '' })
      expect((await made.validate(value)).ok).toBe(true)
      expect((await made.validate(other)).ok).toBe(schema.safeParse(other).success)
    }),
    { numRuns: 100 },
  )
})

test('a JSON Schema accepts what the zod schema that it came from accepts', async () => {
  await fc.assert(
    fc.asyncProperty(toolInputs, async ({ schema, value }) => {
      const { jsonSchema } = compileSchema(schema, 'The input')
      const made = tool({ name: 't', description: '', input: { jsonSchema }, execute: () => '' })
      expect(await made.validate(value)).toMatchObject({ ok: true })
    }),
    { numRuns: 100 },
  )
})
