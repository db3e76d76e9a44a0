/** Mistakes that people make in their first hour, and the sentence that each of them gets. */
import { describe, expect, it } from 'vitest'
import { createActor, toPromise } from 'xstate'
import { z } from 'zod'
import { z as zod3 } from 'zod/v3'
import { listModels } from '../../providers/registry.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { startInspector } from '../../src/inspector/index.ts'
import { mcpHandler } from '../../src/mcp/index.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { openaiHandler } from '../../src/ui/index.ts'
import { sentenceOf } from './sentenceOf.ts'

const agentOf = (model: string, options?: object) => new Agent(model, options)

describe('a model that is written wrongly', () => {
  it.each([
    ['gpt-6-luna', 'There is no provider "gpt-6-luna". Write "openai:gpt-6-luna".'],
    ['gpt-9', 'There is no provider "gpt-9". Write "openai:gpt-9".'],
    ['claude-sonnet-5-5', 'There is no provider "claude-sonnet-5-5". Write "anthropic:claude-sonnet-5-5".'],
    ['gemini-3.8-flash', 'There is no provider "gemini-3.8-flash". Write "google:gemini-3.8-flash".'],
    ['grok-4.7', 'There is no provider "grok-4.7". Write "xai:grok-4.7".'],
    [
      'qwen3:8b',
      'There is no provider "qwen3". Write "ollama:qwen3:8b", or another provider of such models.',
    ],
  ])('%s', async (model, sentence) => {
    expect(await sentenceOf(agentOf, model)).toBe(sentence)
  })

  it('has the name that was probably meant, and all others', async () => {
    expect(await sentenceOf(agentOf, 'opnai:gpt-6-luna')).toMatch(
      /^There is no provider "opnai"\. Did you mean "openai:gpt-6-luna"\? Known providers: (?:.*, )?openai, /,
    )
    expect(await sentenceOf(agentOf, 'antropic')).toContain('Did you mean "anthropic"?')
    expect(await sentenceOf(agentOf, 'whatever:x')).toMatch(
      /^There is no provider "whatever"\. Known providers: (?:.*, )?openai, /,
    )
    expect(await sentenceOf(listModels, 'opnai')).toContain('Did you mean "openai"?')
  })

  it('means the default model where nothing follows the colon', () => {
    expect(new Agent('openai:').model.model).toBe(new Agent('openai').model.model)
  })

  it('is a model of the AI SDK', async () => {
    const foreign = { provider: 'openai.responses', modelId: 'gpt-6-luna', doStream: () => {} }
    expect(await sentenceOf(agentOf, foreign)).toBe(
      "The model of an agent is a model of the AI SDK. Write its name: 'openai:gpt-6-luna'.",
    )
  })

  it('is inside of the options', async () => {
    expect(await sentenceOf(agentOf, { model: 'openai:gpt-6-luna', tools: [] })).toBe(
      "The model of an agent comes first: write new Agent('openai:gpt-6-luna', { … }).",
    )
    expect(await sentenceOf(agentOf)).toBe(
      "The model of an agent must be a model string, such as 'openai:gpt-6-luna', or a chat model, not undefined.",
    )
  })
})

describe('a prompt that is written wrongly', () => {
  const agent = new Agent(scriptedModel([]))
  const send = (prompt: string, options?: object) => agent.send(prompt, options)

  it('is a message or a list of messages', async () => {
    const message = { role: 'user', content: 'Hi' }
    expect(await sentenceOf(send, [message])).toBe(
      "The prompt is a list of messages. Write send('…', { history: messages }).",
    )
    expect(await sentenceOf(send, { messages: [message] })).toBe(
      "The prompt comes first: write send('…', { history: messages }).",
    )
    expect(await sentenceOf(send, 'Hi', { history: [message] })).toBe(
      "history[0] is not a message. It has no list of parts. Write parts: [{ type: 'text', text: '…' }] instead of content, or userMessage('…').",
    )
  })

  it('has a role of another library', async () => {
    const parts = [{ type: 'text', text: 'Hi' }]
    expect(await sentenceOf(send, 'Hi', { history: [{ role: 'assistant', parts }] })).toContain(
      "Write role: 'model'.",
    )
    expect(await sentenceOf(send, 'Hi', { history: [{ role: 'tool', parts }] })).toContain(
      'The result of a tool is a toolResult part of a user message.',
    )
  })

  it('is misspelled in the input of an actor', async () => {
    const input: object = { promt: 'Hi' }
    const actor = createActor(agent.machine, { input })
    const output = toPromise(actor)
    actor.start()
    expect(await output).toMatchObject({
      status: 'failed',
      error: { message: 'The input of a run cannot have "promt". Did you mean prompt?' },
    })
  })

  it('is asked for a value without a schema', async () => {
    const sendFor = (...args: never[]) => Reflect.apply(agent.sendFor, agent, args)
    expect(await sentenceOf(sendFor, 'Hi')).toBe(
      'sendFor needs a schema: write sendFor(prompt, z.object({ … })).',
    )
  })
})

describe('a tool that is written wrongly', () => {
  const made = tool({ name: 'get_weather', description: 'Current weather', execute: () => '21' })
  const toolOf = (options: object) =>
    sentenceOf(tool, { name: 'get_weather', description: 'Current weather', ...options })

  it('is a tool already', async () => {
    const sentence =
      'What tool() takes is a tool already: use it as it is, or write { ...made, name } without tool() to change it.'
    expect(await sentenceOf(tool, made)).toBe(sentence)
    expect(await toolOf({ ...made, name: 'other' })).toBe(sentence)
  })

  it('works under another name as the sentence says', async () => {
    const model = scriptedModel([[{ toolCall: { name: 'other', arguments: {} } }], 'Done.'])
    const agent = new Agent(model, { tools: [made, { ...made, name: 'other' }] })
    const { messages } = await agent.send('Use the other one.')
    expect(messages[2]?.parts).toMatchObject([{ name: 'other', result: '21' }])
  })

  it('has a schema that cannot be used', async () => {
    expect(await toolOf({ input: zod3.object({ city: zod3.string() }) })).toBe(
      `The input of the tool "get_weather" is a schema of zod 3, which cannot be written as JSON Schema: import { z } from 'zod/v4', or install zod 4.`,
    )
    expect(await toolOf({ input: { city: z.string() } })).toContain(
      'Write z.object({ … }) around these fields.',
    )
    expect(await toolOf({ input: { type: 'object', properties: {} } })).toContain(
      'Write { jsonSchema: { … } } around this JSON Schema.',
    )
  })

  it('is given by name', async () => {
    expect(await sentenceOf(agentOf, 'openai', { tools: { weather: made } })).toBe(
      'tools must be a list, not an object: write tools: [weather], each made with tool({ name, … }).',
    )
  })
})

describe('a store that is written wrongly', () => {
  it('is a path', async () => {
    expect(await sentenceOf(openRuns, { store: 'runs.db' })).toBe(
      "store must be a store, not a path: write store: sqlite('runs.db').",
    )
  })

  it.each([':memory:', 'file::memory:?cache=shared'])('is in memory: %s', async (path) => {
    expect(await sentenceOf(sqlite, path)).toBe(
      `The path of a store cannot be ":memory:": stored runs are there to survive their process. Write a path, such as sqlite('runs.db'); agent.send stores nothing.`,
    )
  })
})

describe('an option that does not exist', () => {
  const agent = new Agent('openai', { apiKey: 'k' })

  it.each<[string, (options: object) => unknown]>([
    ['startInspector', (options) => startInspector(options)],
    ['startSimulator', (options) => startSimulator(options)],
    ['scriptedModel', (options) => scriptedModel([], options)],
    ['asTool', (options) => agent.asTool({ name: 'a', description: 'b', ...options })],
    ['an actor', (options) => agent.actor({ prompt: 'Hi' }, options)],
    ['embeddings', (options) => agent.embedQuery('Hi', options)],
    ['a send', (options) => agent.start('Hi', options)],
    ['openaiHandler', (options) => openaiHandler({ agent }, options)],
    ['mcpHandler', (options) => mcpHandler({ agent: { agent, description: 'b' } }, options)],
  ])('of %s', async (what, call) => {
    expect(await sentenceOf(call, { zzzzzzzz: 1 })).toContain(
      `The options of ${what} cannot have "zzzzzzzz". There are: `,
    )
  })

  it('may be a name that was forgotten', async () => {
    expect(await sentenceOf(openaiHandler, agent)).toBe(
      'The agents of openaiHandler have names: write openaiHandler({ weather: agent }).',
    )
  })
})
