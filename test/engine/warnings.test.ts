import { describe, expect, it } from 'vitest'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { findProvider } from '../../providers/registry.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { userMessage } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { loopback } from '../loopback.ts'

const chunk = (delta: object, reason: string | null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
const answer = { body: `${chunk({ content: 'ok' }, 'stop')}data: [DONE]\n\n` }
const call = {
  body: `${chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '{}' } }] }, 'tool_calls')}data: [DONE]\n\n`,
}
const refusal = {
  status: 400,
  body: { error: { message: "Unsupported parameter: 'temperature' is not supported with this model." } },
}
const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' })

/** A server that refuses the temperature, asks for a tool, and then answers. */
const strictServer = () =>
  loopback(({ body, text }) => ('temperature' in body ? refusal : text.includes('"seen"') ? answer : call))

const refused = {
  setting: 'temperature',
  change: 'omitted',
  message: 'openai:my-model refuses temperature: it is left out.',
  provider: 'openai',
  model: 'my-model',
  refusal: refusal.body.error.message,
}

describe('a run', () => {
  it('reports a refused setting once: as an event, in the result and in the last chunk', async () => {
    const server = await strictServer()
    const agent = new Agent('openai:my-model', {
      baseUrl: server.url,
      apiKey: 'key',
      temperature: 0.3,
      tools: [look],
    })
    const run = agent.start('Hello')
    const events: object[] = []
    run.on('warning', (event) => events.push(event))
    const result = await run.result
    expect(result.output).toBe('ok')
    expect(result.warnings).toEqual([refused])
    expect(events).toEqual([{ type: 'warning', ...refused }])
    expect(server.requests).toHaveLength(3)

    const chunks: ChatResult[] = []
    for await (const each of agent.sendStream('Again')) chunks.push(each)
    expect(chunks.at(-1)?.warnings).toEqual([refused])
    expect(chunks.slice(0, -1).some(({ warnings }) => warnings)).toBe(false)
    // One request per answer: the refusal is remembered by the process, not by the agent.
    expect(server.requests).toHaveLength(5)
  })

  it('has no warnings where the model got everything', async () => {
    const server = await loopback(() => answer)
    const agent = new Agent('openai:my-model', { baseUrl: server.url, apiKey: 'key', temperature: 0.3 })
    expect(await agent.send('Hello')).not.toHaveProperty('warnings')
  })

  it('keeps the warnings of all its phases', async () => {
    const server = await loopback(({ body }) => ('temperature' in body ? refusal : answer))
    const agent = new Agent('openai:my-model', {
      baseUrl: server.url,
      apiKey: 'key',
      temperature: 0.3,
      orchestrator: reflectionOrchestrator({ maxRounds: 1 }),
    })
    expect((await agent.send('Hello')).warnings).toEqual([refused])
  })

  it('can be stored with its warnings, and restored', async () => {
    const server = await strictServer()
    const agent = new Agent('openai:my-model', {
      baseUrl: server.url,
      apiKey: 'key',
      temperature: 0.3,
      tools: [tool({ name: 'look', description: 'Looks.', needsApproval: true, execute: () => 'seen' })],
    })
    const { pendingApproval } = await agent.send('Hello')
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    const result = await agent.resume(stored, { c: true })
    expect(result.warnings).toEqual([refused])
  })
})

/** The warnings of one request to a server that takes everything. */
const warningsOf = async (model: string, request: Partial<ModelRequest>): Promise<string[]> => {
  const server = await loopback(() => ({ status: 403, body: {} }))
  const [provider = '', name = ''] = model.split(':')
  const chat = findProvider(provider).chatModel(name, { baseUrl: server.url, apiKey: 'key' })
  const found: string[] = []
  await new Promise<void>((resolve) => {
    chat.stream(
      { messages: [userMessage('Hello')], ...request },
      {
        deltas: (batch) => {
          for (const each of batch) if (each.type === 'warning') found.push(each.warning.message)
        },
        end: resolve,
        fail: () => resolve(),
      },
    )
  })
  return found
}

const tools = [{ name: 'look', description: '', inputSchema: { type: 'object' } }]

describe('a setting that a model is known not to take', () => {
  it.each<[string, Partial<ModelRequest>, string[]]>([
    [
      'openai-chat:gpt-5',
      { temperature: 0.5, seed: 1 },
      ['openai-chat:gpt-5 does not take temperature: it is left out.'],
    ],
    [
      'openai-responses:gpt-6-luna',
      { seed: 1, stopSequences: ['x'] },
      [
        'openai-responses:gpt-6-luna does not take seed: it is left out.',
        'openai-responses:gpt-6-luna does not take stopSequences: it is left out.',
      ],
    ],
    [
      'anthropic:claude-sonnet-5-5',
      { temperature: 0.5, seed: 1 },
      [
        'anthropic:claude-sonnet-5-5 does not take temperature: it is left out.',
        'anthropic:claude-sonnet-5-5 does not take seed: it is left out.',
      ],
    ],
    [
      'anthropic:claude-haiku-4-5',
      { stopSequences: [' ', 'END'] },
      ['anthropic:claude-haiku-4-5 takes only 1 of the stopSequences.'],
    ],
    [
      'ollama:qwen3',
      { tools, toolChoice: 'required' },
      ['ollama:qwen3 cannot be made to call a tool: toolChoice is "auto" instead.'],
    ],
    [
      'google:gemini-3-flash',
      { tools, parallelToolCalls: false },
      ['google:gemini-3-flash does not take parallelToolCalls: it is left out.'],
    ],
    [
      'google:gemini-3-flash',
      { thinking: false },
      ['google:gemini-3-flash cannot stop thinking: it is asked for as little as it can ("minimal").'],
    ],
    [
      'openai-chat:gpt-4.1',
      { thinking: true },
      ['openai-chat:gpt-4.1 does not think: thinking is left out.'],
    ],
    [
      'openai-chat:gpt-5',
      { thinking: { effort: 'max' } },
      ['openai-chat:gpt-5 does not take the effort "max": it gets "high" instead.'],
    ],
  ])('is reported: %s %o', async (model, request, warnings) => {
    expect(await warningsOf(model, request)).toEqual(warnings)
  })

  it.each<[string, Partial<ModelRequest>]>([
    [
      'openai-chat:gpt-4.1',
      {
        temperature: 0,
        topP: 1,
        seed: 1,
        stopSequences: ['x'],
        maxOutputTokens: 5,
        tools,
        toolChoice: 'required',
        parallelToolCalls: false,
      },
    ],
    [
      'anthropic:claude-haiku-4-5',
      {
        temperature: 0,
        stopSequences: ['x'],
        tools,
        toolChoice: { tool: 'look' },
        parallelToolCalls: false,
        thinking: undefined as never,
      },
    ],
    ['anthropic:claude-haiku-4-5', { thinking: false }],
    [
      'google:gemini-2.5-flash',
      {
        temperature: 0,
        topP: 1,
        seed: 1,
        stopSequences: ['x'],
        tools,
        toolChoice: 'required',
        thinking: false,
      },
    ],
    [
      'cohere:command-a-03-2025',
      { temperature: 0, topP: 1, seed: 1, stopSequences: ['x'], tools, toolChoice: 'required' },
    ],
    [
      'mistral:mistral-large-latest',
      { temperature: 0, topP: 1, seed: 1, stopSequences: ['x'], maxOutputTokens: 5 },
    ],
    [
      'ollama:qwen3',
      { temperature: 0, topP: 1, seed: 1, stopSequences: ['x'], maxOutputTokens: 5, thinking: false },
    ],
  ])('is the only one that is reported: %s %o', async (model, request) => {
    expect(await warningsOf(model, request)).toEqual([])
  })
})
