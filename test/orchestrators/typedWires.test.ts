import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { TypedOutputStrategy } from '../../machines/orchestrators/typedOutput.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { OutputValidationError } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { weather } from '../engine/sampleTools.ts'
import { rejection } from '../engine/watching.ts'
import { anthropic } from '../hostile/anthropicWire.ts'
import { mistral, openai } from '../hostile/chatWire.ts'
import { hostileServer } from '../hostile/hostileServer.ts'
import { cohere, google, ollama } from '../hostile/otherWires.ts'
import { responses } from '../hostile/responsesWire.ts'
import { answer, objects, type Turn, type Wire } from '../hostile/wire.ts'
import { expectAcceptable } from '../portability/wireRules.ts'

// Every protocol, over a real socket, with tools and a schema at once.

const city = z.object({ name: z.string(), celsius: z.number() })
const oslo = { name: 'Oslo', celsius: 21 }
const json = JSON.stringify(oslo)

const at = (body: JsonValue | undefined, ...path: string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((value, key) => (isJsonObject(value) ? value[key] : undefined), body)

type Case = {
  name: string
  wire: Wire
  model: string
  protocol: string
  strategy: TypedOutputStrategy
  /** Where a request holds the schema. */
  schemaOf: (body: JsonObject) => JsonValue | undefined
  /** The names of the tools of a request. */
  toolsOf: (body: JsonObject) => unknown[]
}

const functions = (body: JsonObject) => objects(body.tools).map((tool) => at(tool, 'function', 'name'))
const names = (body: JsonObject) => objects(body.tools).map(({ name }) => name)
const responseFormat = (body: JsonObject) => at(body, 'response_format', 'json_schema')
const declarations = (body: JsonObject) =>
  objects(body.tools).flatMap((tool) => objects(tool.functionDeclarations).map(({ name }) => name))
const geminiSchema = (body: JsonObject) => at(body, 'generationConfig', 'responseJsonSchema')
const claudeSchema = (body: JsonObject) => at(body, 'output_config', 'format', 'schema')

const chat = { protocol: 'openai-chat', schemaOf: responseFormat, toolsOf: functions }
const claude = { wire: anthropic, protocol: 'anthropic', schemaOf: claudeSchema, toolsOf: names }
const gemini = { wire: google, protocol: 'google', schemaOf: geminiSchema, toolsOf: declarations }

const cases: Case[] = [
  { name: 'openai', wire: openai, model: 'openai:gpt-4o', strategy: 'native', ...chat },
  {
    name: 'openai-responses',
    wire: responses,
    model: 'openai-responses:gpt-4o',
    protocol: 'openai-responses',
    strategy: 'native',
    schemaOf: (body) => at(body, 'text', 'format', 'schema'),
    toolsOf: names,
  },
  { name: 'a new Claude', model: 'anthropic:claude-sonnet-4-5', strategy: 'native', ...claude },
  { name: 'an old Claude', model: 'anthropic:claude-3-5-haiku', strategy: 'returnResult', ...claude },
  { name: 'groq', wire: openai, model: 'groq:llama', strategy: 'returnResult', ...chat },
  { name: 'Gemini 3', model: 'google:gemini-3-flash', strategy: 'native', ...gemini },
  { name: 'Gemini 2', model: 'google:gemini-2.5-flash', strategy: 'twoPhases', ...gemini },
  {
    name: 'ollama',
    wire: ollama,
    model: 'ollama:qwen3:8b',
    protocol: 'ollama',
    strategy: 'twoPhases',
    schemaOf: (body) => body.format,
    toolsOf: functions,
  },
  {
    name: 'mistral',
    wire: mistral,
    model: 'mistral:mistral-small-latest',
    strategy: 'twoPhases',
    ...chat,
    protocol: 'mistral',
  },
  {
    name: 'cohere',
    wire: cohere,
    model: 'cohere:command-a-03-2025',
    strategy: 'twoPhases',
    ...chat,
    protocol: 'cohere',
  },
]

const look: Turn = {
  text: 'Let me look.',
  calls: [{ id: 'call00001', name: 'get_weather', args: '{"city":"Oslo"}' }],
}
const returned = (value: string): Turn => ({
  calls: [{ id: 'call00002', name: 'return_result', args: value }],
})

/** What the model says after its tools, for a value that it gives as this JSON. */
const ending = (strategy: TypedOutputStrategy, value: string): Turn[] => {
  if (strategy === 'returnResult') return [returned(value)]
  return strategy === 'native' ? [{ text: value }] : [{ text: 'It is warm.' }, { text: value }]
}

const serve = async ({ wire, model }: Case, turns: Turn[], options: AgentOptions = {}) => {
  const server = await hostileServer(turns.map((turn) => answer(wire, wire.events(turn))))
  const agent = new Agent(model, { baseUrl: server.url, apiKey: 'k', tools: [weather], ...options })
  return { agent, bodies: () => server.requests.map(({ body }) => body) }
}

describe.each(cases)('typed output of $name', (each) => {
  const { strategy, schemaOf, toolsOf } = each

  test('with tools is asked for as the model can take it, and is the validated value', async () => {
    const { agent, bodies } = await serve(each, [look, ...ending(strategy, json)])
    const { output, messages, usage } = await agent.sendFor('Oslo?', city)
    expect(output).toEqual(oslo)
    expect(validateHistory(messages)).toEqual([])
    const asked = bodies().map((body) => [toolsOf(body).join(), schemaOf(body) !== undefined])
    expect(asked).toEqual(
      {
        native: [
          ['get_weather', true],
          ['get_weather', true],
        ],
        returnResult: [
          ['get_weather,return_result', false],
          ['get_weather,return_result', false],
        ],
        twoPhases: [
          ['get_weather', false],
          ['get_weather', false],
          ['', true],
        ],
      }[strategy],
    )
    expect(usage?.inputTokens).toBe(10 * bodies().length)
  })

  test('without tools needs no second phase', async () => {
    const turns = strategy === 'returnResult' ? [returned(json)] : [{ text: json }]
    const { agent, bodies } = await serve(each, turns, { tools: [] })
    expect((await agent.sendFor('Oslo?', city)).output).toEqual(oslo)
    expect(bodies().map((body) => schemaOf(body) !== undefined)).toEqual([strategy !== 'returnResult'])
  })

  test('grows in a stream, without the words around it', async () => {
    const { agent } = await serve(each, [look, ...ending(strategy, json)])
    const outputs: unknown[] = []
    for await (const { output, metadata } of agent.sendStreamFor('Oslo?', city)) {
      if (metadata.restart === true) outputs.length = 0
      outputs.push(output)
    }
    expect(outputs.at(-1)).toEqual(oslo)
    expect(JSON.stringify(outputs)).not.toMatch(/look|warm/)
    if (strategy !== 'returnResult')
      expect(new Set(outputs.map((output) => JSON.stringify(output))).size).toBeGreaterThan(1)
  })

  test('the model learns of a misfit, and may mend it', async () => {
    const wrong = '{"name":"Oslo","celsius":"warm"}'
    const again = strategy === 'returnResult' ? returned(json) : { text: json }
    const { agent, bodies } = await serve(each, [look, ...ending(strategy, wrong), again])
    expect((await agent.sendFor('Oslo?', city)).output).toEqual(oslo)
    expect(JSON.stringify(bodies().at(-1))).toContain('celsius')
  })

  test('a misfit for ever is an error with what the model said', async () => {
    const wrong = 'It is warm.'
    const { agent } = await serve(each, [
      look,
      ...ending(strategy === 'returnResult' ? 'native' : strategy, wrong),
      { text: wrong },
    ])
    const error = await rejection(agent.sendFor('Oslo?', city), OutputValidationError)
    expect(error.rawOutput).toBe(wrong)
    expect(validateHistory(error.partial?.messages ?? [])).toEqual([])
  })

  test('a second typed turn goes on from the first', async () => {
    const turns = [look, ...ending(strategy, json), ...ending(strategy, json)]
    const { agent, bodies } = await serve(each, turns, { system: 'Be brief.' })
    const first = await agent.sendFor('Oslo?', city)
    const second = await agent.sendFor('And now?', city, { history: first.messages })
    expect(second.output).toEqual(oslo)
    expect(bodies()).toHaveLength(turns.length)
    // Linked responses hold only what is new.
    const whole = bodies()
      .slice(1)
      .filter((body) => body.previous_response_id === undefined)
    for (const body of whole) expectAcceptable(each.protocol, body)
  })
})
