import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import {
  AbortedError,
  ConfigurationError,
  ModelError,
  OutputValidationError,
} from '../../src/messages/errors.ts'
import { textOf, toolCallsOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { recorder, weather } from './sampleTools.ts'
import { collect, idle, rejection } from './watching.ts'

const city = z.object({ name: z.string(), celsius: z.number() })
const oslo = { name: 'Oslo', celsius: 21 }
const json = JSON.stringify(oslo)
const look: ScriptTurn = [
  { text: 'Let me look.' },
  { toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } },
]
const returns = (id: string, value: object): ScriptTurn => [
  { text: 'Here it is.' },
  { toolCall: { id, name: 'return_result', arguments: JSON.parse(JSON.stringify(value)) } },
]

const noSchema = (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const model = scriptedModel(turns, { profile: { nativeSchema: false } })
  return { model, agent: new Agent(model, { tools: [weather], ...options }) }
}
const eitherOr = (turns: ScriptTurn[]) => {
  const model = scriptedModel(turns, { profile: { schemaWithTools: false } })
  return { model, agent: new Agent(model, { tools: [weather] }) }
}

const outputs = (chunks: { output: unknown }[]) =>
  chunks.map(({ output }) => output).filter((output) => output !== '')

describe('20: typed output through return_result', () => {
  test('gives the arguments of the call, validated; every call is answered, no text is made up', async () => {
    const { agent, model } = noSchema([look, returns('r', oslo)])
    const { output, messages } = await agent.sendFor('Oslo', city)
    expect(output).toEqual(oslo)
    expect(validateHistory(messages)).toEqual([])
    expect(messages.flatMap(toolCallsOf).map(({ name }) => name)).toEqual(['get_weather', 'return_result'])
    expect(messages.flatMap(toolResultsOf)).toHaveLength(2)
    expect(messages.some((message) => message.role === 'model' && textOf(message).includes('{'))).toBe(false)
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['get_weather', 'return_result'])
    expect(model.requests[0]).not.toHaveProperty('outputSchema')
    model.assertDone()
  })

  test('streams no text, only the JSON, once', async () => {
    const { agent } = noSchema([look, returns('r', oslo)])
    const chunks = await collect(agent.sendStreamFor('Oslo', city))
    expect(JSON.stringify(chunks.map(({ output }) => output))).not.toContain('Let me look')
    expect(chunks.at(-1)?.output).toEqual(oslo)
    expect(chunks.filter(({ finishReason }) => finishReason !== 'unspecified')).toHaveLength(1)
  })

  test('a misfit is an error result, and the loop goes on', async () => {
    const { agent, model } = noSchema([returns('r1', { name: 5 }), returns('r2', oslo)])
    const { output, messages } = await agent.sendFor('Oslo', city)
    expect(output).toEqual(oslo)
    expect(messages.flatMap(toolResultsOf).map(({ isError }) => isError)).toEqual([true, undefined])
    expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('name')
    model.assertDone()
  })

  test('calls beside return_result are answered, too', async () => {
    const both: ScriptTurn = [
      { toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } },
      { toolCall: { id: 'r', name: 'return_result', arguments: oslo } },
    ]
    const { output, messages } = await noSchema([both]).agent.sendFor('Oslo', city)
    expect(output).toEqual(oslo)
    expect(validateHistory(messages)).toEqual([])
  })

  test('a tool of the user cannot have the name', async () => {
    const mine = tool({ name: 'return_result', description: '', execute: () => 1 })
    const { agent, model } = noSchema([], { tools: [mine] })
    await expect((async () => agent.sendFor('Oslo', city))()).rejects.toBeInstanceOf(ConfigurationError)
    expect(model.requests).toEqual([])
  })

  test('plain text instead of the call is read as JSON, or asked for again', async () => {
    expect((await noSchema([json]).agent.sendFor('Oslo', city)).output).toEqual(oslo)
    expect((await noSchema([`\`\`\`json\n${json}\n\`\`\``]).agent.sendFor('Oslo', city)).output).toEqual(oslo)
    const { agent, model } = noSchema(['It is warm.', returns('r', oslo)])
    expect((await agent.sendFor('Oslo', city)).output).toEqual(oslo)
    model.assertDone()
  })
})

describe('21: typed output in two phases', () => {
  test('first with tools and without the schema, then with the schema and without tools', async () => {
    const { agent, model } = eitherOr([look, 'It is 21 degrees.', json])
    const { output, metadata, messages } = await agent.sendFor('Oslo', city)
    expect(output).toEqual(oslo)
    expect(
      model.requests.map((request) => [request.tools?.length ?? 0, request.outputSchema !== undefined]),
    ).toEqual([
      [1, false],
      [1, false],
      [0, true],
    ])
    expect(JSON.stringify(metadata.suppressedText)).toContain('It is 21 degrees.')
    expect(validateHistory(messages)).toEqual([])
    model.assertDone()
  })

  test('streams no text of the first phase', async () => {
    const { agent } = eitherOr([look, 'It is 21 degrees.', json])
    const chunks = await collect(agent.sendStreamFor('Oslo', city))
    expect(JSON.stringify(outputs(chunks))).not.toContain('degrees')
    expect(chunks.at(-1)?.output).toEqual(oslo)
  })

  test('without tools there is one phase only', async () => {
    const model = scriptedModel([json], { profile: { schemaWithTools: false } })
    expect((await new Agent(model).sendFor('Oslo', city)).output).toEqual(oslo)
    model.assertDone()
  })

  test('adds up what all phases used', async () => {
    const used = (text: string): ScriptTurn => [{ text }, { usage: { inputTokens: 2 } }]
    const { agent } = eitherOr([used('It is 21 degrees.'), used(json)])
    expect((await agent.sendFor('Oslo', city)).usage).toEqual({ inputTokens: 4 })
  })
})

describe('22: a second typed turn', () => {
  test.each([
    ['native', scriptedModel([look, json, json])],
    [
      'return_result',
      scriptedModel([look, returns('r1', oslo), returns('r2', oslo)], { profile: { nativeSchema: false } }),
    ],
    [
      'two phases',
      scriptedModel([look, 'Warm.', json, 'Still warm.', json], { profile: { schemaWithTools: false } }),
    ],
  ])('works on the history of the first: %s', async (_, model) => {
    const agent = new Agent(model, { tools: [weather] })
    const first = await agent.sendFor('Oslo', city)
    const second = await agent.sendFor('And now?', city, { history: first.messages })
    expect([first.output, second.output]).toEqual([oslo, oslo])
    const ids = [...first.messages, ...second.messages].flatMap(toolCallsOf).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const problems = validateHistory([...first.messages, ...second.messages])
    expect(problems.filter(({ code }) => code !== 'notAlternating')).toEqual([])
    model.assertDone()
  })
})

describe('any typed answer', () => {
  test('may be a list or a plain value: it is asked for inside an object', async () => {
    const model = scriptedModel(['{"value":[1,2]}', '{"value":"x"}'])
    const agent = new Agent(model)
    expect((await agent.sendFor('x', z.array(z.number()))).output).toEqual([1, 2])
    expect((await agent.sendFor('x', z.string())).output).toBe('x')
    expect(model.requests[0]?.outputSchema).toMatchObject({ type: 'object', required: ['value'] })
  })

  test('grows in a stream, and its last value is the validated one', async () => {
    const model = scriptedModel([[{ text: '{"name":"Os' }, { text: 'lo","cel' }, { text: 'sius":21}' }]])
    const chunks = await collect(new Agent(model).sendStreamFor('Oslo', city))
    expect(chunks.at(-1)).toMatchObject({ output: oslo, finishReason: 'stop' })
    const grown = chunks.map(({ output }) => JSON.stringify(output) ?? '')
    expect(grown.filter((text) => text.includes('Os')).length).toBeGreaterThan(1)
  })

  test('a misfit twice is an error with the whole conversation, valid, and both uses counted', async () => {
    const bad: ScriptTurn = [{ text: '{"name":5}' }, { usage: { inputTokens: 3 } }]
    const error = await rejection(
      new Agent(scriptedModel([bad, bad])).sendFor('Oslo', city),
      OutputValidationError,
    )
    expect(error.partial?.usage).toEqual({ inputTokens: 6 })
    expect(validateHistory(error.partial?.messages ?? [])).toEqual([])
    expect(error.partial?.messages).toHaveLength(4)
  })

  test('a corrected stream shows that what came before does not count', async () => {
    const chunks = await collect(new Agent(scriptedModel(['{"name":5}', json])).sendStreamFor('Oslo', city))
    expect(chunks.filter(({ metadata }) => metadata.restart === true)).toHaveLength(1)
    expect(chunks.at(-1)?.output).toEqual(oslo)
  })

  test('fails and aborts as a plain send does', async () => {
    const failing = scriptedModel([[{ text: '{"na' }, { error: { message: 'boom' } }]])
    const error = await rejection(new Agent(failing).sendFor('Oslo', city), ModelError)
    expect(error.partial).toMatchObject({ output: '{"na', finishReason: 'error' })
    const hanging = scriptedModel([[{ text: '{"na' }, { hang: true }]])
    const controller = new AbortController()
    const sent = rejection(
      new Agent(hanging).sendFor('Oslo', city, { signal: controller.signal }),
      AbortedError,
    )
    await idle()
    controller.abort()
    expect((await sent).partial).toMatchObject({ output: '{"na', finishReason: 'aborted' })
    expect(hanging.closed).toBe(1)
  })

  test('leaving its stream closes the request', async () => {
    const model = scriptedModel([[{ text: '{"name":"Oslo"' }, { hang: true }]])
    for await (const { output } of new Agent(model).sendStreamFor('Oslo', city)) if (output?.name) break
    expect(model.closed).toBe(1)
  })

  test('asks onApproval for tools that need it', async () => {
    const risky = tool({ name: 'risky', description: '', needsApproval: true, execute: () => 'did it' })
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'risky' } }], json])
    const agent = new Agent(model, { tools: [risky], onApproval: () => true })
    const { output, messages } = await agent.sendFor('Oslo', city)
    expect(output).toEqual(oslo)
    expect(messages.flatMap(toolResultsOf)[0]?.result).toBe('did it')
  })

  test('uses the machine of a schema again, and two at once share nothing', async () => {
    const model = scriptedModel([json, JSON.stringify({ ...oslo, name: 'Rome' })])
    const agent = new Agent(model, { tools: [recorder().tool] })
    const both = await Promise.all([agent.sendFor('Oslo', city), agent.sendFor('Rome', city)])
    expect(both.map(({ output }) => output.name)).toEqual(['Oslo', 'Rome'])
  })
})
