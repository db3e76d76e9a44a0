import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AnthropicProfile } from '../../providers/anthropic/profile.ts'
import { thinkingSettings } from '../../providers/anthropic/thinking.ts'
import { findProvider } from '../../providers/registry.ts'
import { bedrock } from '../../providers/values/bedrock.ts'
import { Agent, ConfigurationError } from '../../src/index.ts'
import { systemMessage, userMessage } from '../../src/messages/messages.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { fileSearch, webSearch } from '../../src/model/serverTools.ts'
import { loopback } from '../loopback.ts'

const tools = [{ name: 'look', description: '', inputSchema: { type: 'object' } }]

/** The body of one request of a model to a server that refuses it, and the error. */
const sentBy = async (model: string, request: Partial<ModelRequest>, isOwnHost = false, baseUrl?: string) => {
  const server = await loopback(() => ({ status: 403, body: {} }))
  const [provider = '', name = ''] = model.split(':')
  const chat = findProvider(provider).chatModel(name, {
    apiKey: 'key',
    ...(baseUrl !== undefined && { baseUrl }),
    ...(isOwnHost
      ? { connection: { fetch: (url, init) => fetch(`${server.url}${new URL(String(url)).pathname}`, init) } }
      : { baseUrl: server.url }),
  })
  const error = await new Promise<{ message: string; name: string }>((resolve) => {
    chat.stream(
      { messages: [userMessage('Hello')], ...request },
      { deltas: () => {}, end: () => resolve({ message: '', name: '' }), fail: resolve },
    )
  })
  return { body: server.requests[0]?.body, path: server.requests[0]?.path, error }
}

/** The body of a request to a server elsewhere, which never gets it. */
const sentFrom = async (model: string, baseUrl: string, request: Partial<ModelRequest>) =>
  (await sentBy(model, request, true, baseUrl)).body

it.each(['openai', 'openai-compatible'])(
  '%s with a baseUrl does not send a schema and tools together: vLLM would never call a tool',
  (provider) => {
    const { profile } = findProvider(provider).chatModel('my-model', { baseUrl: 'http://127.0.0.1:1/v1' })
    expect(profile).toMatchObject({ nativeSchema: true, schemaWithTools: false })
  },
)

it('sends server tools of a model of chat completions to the Responses API, at OpenAI itself', async () => {
  const search = { serverTools: [webSearch()] }
  expect(await sentBy('openai:gpt-4.1', search, true)).toMatchObject({
    path: '/v1/responses',
    body: { tools: [{ type: 'web_search' }] },
  })
  expect(await sentBy('openai:gpt-4.1', {}, true)).toMatchObject({ path: '/v1/chat/completions' })
})

it('advises a name that helps where "openai" with a baseUrl speaks chat completions', async () => {
  const { error } = await sentBy('openai:gpt-6.1-sol', { tools })
  expect(error.message).toContain('Use the Responses API: "openai-responses:gpt-6.1-sol".')
})

it('keeps the temperature where thinking is switched off', async () => {
  const off = { thinking: false, temperature: 0.2 } as const
  expect((await sentBy('openai-responses:gpt-6-luna', off)).body).toMatchObject({
    temperature: 0.2,
    reasoning: { effort: 'none' },
  })
  expect((await sentBy('openai-chat:gpt-6-luna', off)).body).toMatchObject({
    temperature: 0.2,
    reasoning_effort: 'none',
  })
  expect((await sentBy('openai-responses:gpt-6-luna', { temperature: 0.2 })).body).not.toHaveProperty(
    'temperature',
  )
})

it('offers Gemini no search where toolChoice is "none"', async () => {
  const search = { serverTools: [webSearch()], toolChoice: 'none' as const }
  expect((await sentBy('google:gemini-3-flash', search)).body).not.toHaveProperty('tools')
  expect((await sentBy('google:gemini-3-flash', { ...search, tools })).body?.tools).toHaveLength(1)
})

it('refuses fileSearch on Vertex, which has no such stores', async () => {
  const { error, body } = await sentBy('vertex:gemini-3-flash', {
    serverTools: [fileSearch({ stores: ['s'] })],
  })
  expect(error).toMatchObject({
    name: ConfigurationError.name,
    message: expect.stringContaining('fileSearch'),
  })
  expect(body).toBeUndefined()
})

it('does not reserve the longest answer of a model at Bedrock', () => {
  const profile = bedrock('global.anthropic.claude-sonnet-5-5').profile as AnthropicProfile
  const situation = { forcedTool: false, resumesWithoutThinking: false }
  expect(thinkingSettings({ messages: [] }, profile, situation).maxTokens).toBe(32_000)
  expect(thinkingSettings({ messages: [], maxOutputTokens: 90_000 }, profile, situation).maxTokens).toBe(
    90_000,
  )
})

describe('a server is known by its address, whichever provider it was given to', () => {
  const off = { thinking: false } as const
  const at = (url: string, model: string, provider = 'openai') =>
    sentFrom(`${provider}:${model}`, url, { ...off })

  it.each([
    ['https://api.deepseek.com', 'deepseek-flash', { thinking: { type: 'disabled' } }],
    ['https://api.moonshot.ai/v1', 'kimi-k2.6', { thinking: { type: 'disabled' } }],
    ['https://api.z.ai/api/paas/v4', 'glm-5.2', { thinking: { type: 'disabled' } }],
    ['https://open.bigmodel.cn/api/paas/v4', 'glm-5.2', { thinking: { type: 'disabled' } }],
    ['https://dashscope.aliyuncs.com/compatible-mode/v1', 'qwen3.8-max', { enable_thinking: false }],
    ['https://api.minimax.io/v1', 'MiniMax-M3', { thinking: { type: 'disabled' } }],
    ['https://openrouter.ai/api/v1', 'z-ai/glm-5.2', { reasoning: { enabled: false } }],
  ])('%s: %s', async (url, model, setting) => {
    for (const provider of ['openai', 'openai-compatible']) {
      const body = await at(url, model, provider)
      expect(body).toMatchObject(setting)
      expect(body).not.toHaveProperty('reasoning_effort')
    }
  })

  it.each(['https://api.deepseek.com', 'https://api.moonshot.ai/v1', 'https://api.groq.com/openai/v1'])(
    '%s gets no schema for an answer',
    (baseUrl) => {
      const { profile } = findProvider('openai').chatModel('some-model', { baseUrl })
      expect(profile).toMatchObject({ nativeSchema: false, schemaWithTools: false })
    },
  )

  it('sends a preset of a host the same', async () => {
    for (const [name, model, setting] of [
      ['deepseek', 'deepseek-flash', { thinking: { type: 'disabled' } }],
      ['zai', 'glm-5.2', { thinking: { type: 'disabled' } }],
      ['alibaba', 'qwen3.8-max', { enable_thinking: false }],
    ] as const) {
      expect((await sentBy(`${name}:${model}`, off)).body).toMatchObject(setting)
    }
    const on = { thinking: { effort: 'high' } } as const
    expect((await sentBy('deepseek:deepseek-flash', on)).body).toMatchObject({
      thinking: { type: 'enabled' },
      reasoning_effort: 'high',
    })
    expect((await sentBy('minimax:MiniMax-M3', { thinking: true })).body).toMatchObject({
      thinking: { type: 'adaptive' },
    })
  })
})

it('keeps the effort of gpt-oss on vLLM, and switches others by their chat template', async () => {
  const high = { thinking: { effort: 'high' } } as const
  expect((await sentBy('vllm:openai/gpt-oss-120b', high)).body).toMatchObject({ reasoning_effort: 'high' })
  expect((await sentBy('vllm:Qwen/Qwen3-32B', { thinking: false })).body).toMatchObject({
    chat_template_kwargs: { enable_thinking: false },
  })
})

it.each([
  ['openai:grok-4.7', 'https://api.x.ai/v1', 'use the provider "xai"'],
  ['openai:sonar', 'https://api.perplexity.ai', 'use the provider "perplexity"'],
  ['github:openai/gpt-4.1', undefined, 'GitHub Models'],
])('warns of %s at %s, which is about to end', async (model, baseUrl, advice) => {
  const end = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] })}\n\n`
  const server = await loopback(() => ({ body: end }))
  const fetcher: typeof fetch = (_, init) => fetch(server.url, init)
  const connection = { fetch: fetcher }
  const agent = new Agent(model, { apiKey: 'key', connection, ...(baseUrl && { baseUrl }) })
  const { output, warnings } = await agent.send('Hi')
  expect(output).toBe('Hello')
  expect(warnings).toMatchObject([
    { setting: 'baseUrl', change: 'deprecated', message: expect.stringContaining(advice) },
  ])
})

describe('thinking that a server leaves in the text', () => {
  const saying = (...pieces: string[]) => {
    const chunks = pieces.map(
      (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`,
    )
    const end = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`
    return loopback(() => ({ body: `${chunks.join('')}${end}` }))
  }

  it.each([
    'groq:qwen/qwen3.8-27b',
    'lmstudio:qwen3-8b',
    'vllm:qwen3-8b',
    'openai:qwen3-8b',
    'openai:my-finetune',
    'openai:gpt-4.1',
    'openai-compatible:qwen3-8b',
  ])('%s does not show <think> as text', async (name) => {
    const server = await saying('<thi', 'nk>Hm', 'm</think>', 'Hello')
    const result = await new Agent(name, { apiKey: 'key', baseUrl: server.url }).send('Hi')
    expect(result).toMatchObject({ output: 'Hello', metadata: { thinking: 'Hmm' } })
  })

  it('stays in an answer that is about the tag, and where the profile says so', async () => {
    const text = 'Qwen begins with <think> and ends with </think>.'
    const server = await saying(text)
    const options = { apiKey: 'key', baseUrl: server.url }
    expect((await new Agent('openai:qwen3-8b', options).send('Hi')).output).toBe(text)
    const tagged = await saying('<think>a</think>b')
    const keeping = { apiKey: 'key', baseUrl: tagged.url, profile: { splitThinkTags: false } }
    expect((await new Agent('openai:qwen3-8b', keeping).send('Hi')).output).toBe('<think>a</think>b')
  })

  it('does not break a typed answer', async () => {
    const server = await saying('<think>{"a": 2}', '</think>\n\n{"a":', ' 1}')
    const agent = new Agent('openai:qwen3-8b', { apiKey: 'key', baseUrl: server.url })
    expect((await agent.sendFor('Hi', z.object({ a: z.number() }))).output).toEqual({ a: 1 })
  })
})

it('speaks Responses with xAI and Perplexity', async () => {
  const request = { messages: [systemMessage('Be brief.'), userMessage('Hello')] }
  expect(await sentBy('xai:grok-4.7', request, true)).toMatchObject({
    path: '/v1/responses',
    body: { input: [{ role: 'system' }, { role: 'user' }] },
  })
  expect(await sentBy('perplexity:perplexity/sonar', {}, true)).toMatchObject({
    path: '/v1/responses',
    body: { store: false },
  })
})

it('gives Claude on Bedrock a schema for its answer, as its API has it', async () => {
  const outputSchema = { type: 'object', properties: {}, required: [], additionalProperties: false }
  const { body } = await sentBy('bedrock:global.anthropic.claude-sonnet-5-5', { outputSchema })
  expect(body).toMatchObject({ output_config: { format: { type: 'json_schema' } } })
})

it('makes embeddings with Vertex, one text in each request', async () => {
  const server = await loopback(() => ({
    body: { predictions: [{ embeddings: { values: [0.1, 0.2], statistics: { token_count: 2 } } }] },
  }))
  const { embeddingsModel } = findProvider('vertex')
  const model = embeddingsModel?.(undefined, { apiKey: 'key', baseUrl: server.url })
  const made = await model?.embed(['sea', 'hill'], 'document', { dimensions: 2 })
  expect(made?.vectors).toEqual([
    [0.1, 0.2],
    [0.1, 0.2],
  ])
  expect(server.requests.map(({ path }) => path)).toEqual(
    Array.from({ length: 2 }, () => '/publishers/google/models/gemini-embedding-001:predict'),
  )
  expect(server.requests[0]?.body).toEqual({
    instances: [{ content: expect.any(String), task_type: 'RETRIEVAL_DOCUMENT' }],
    parameters: { outputDimensionality: 2 },
  })
})

it('embeds in requests of no more tokens than the provider takes, several at a time, in order', async () => {
  let release = () => {}
  const allCame = new Promise<void>((resolve) => {
    release = resolve
  })
  const server = await loopback(async ({ body: { input } }, nth) => {
    // The first answer comes last.
    if (nth === 2) release()
    if (nth === 0) await allCame
    const texts = Array.isArray(input) ? input : []
    return {
      body: { data: texts.map((text, index) => ({ index, embedding: [Number(String(text).slice(0, 1))] })) },
    }
  })
  const texts = ['1', '2', '3'].map((digit) => `${digit}${' sea'.repeat(7500)}`)
  const agent = new Agent('mistral', { apiKey: 'key', baseUrl: server.url })
  expect(await agent.embedDocuments(texts)).toMatchObject({ embeddings: [[1], [2], [3]] })
  expect(server.requests).toHaveLength(3)
})

describe('the cost of a request', () => {
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 100_000, total_tokens: 1_100_000 }
  const answer = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }], usage })}\n\n`
  const costOn = async (model: string, options: object = {}) => {
    const server = await loopback(() => ({ body: answer }))
    const fetcher: typeof fetch = (_, init) => fetch(server.url, init)
    const agent = new Agent(model, { apiKey: 'key', connection: { fetch: fetcher }, ...options })
    return (await agent.send('Hi')).usage?.cost
  }

  it('is known without a price function, at the provider itself', async () => {
    expect(await costOn('groq:openai/gpt-oss-120b')).toBeCloseTo(0.15 + 0.06, 6)
    expect(await costOn('openai-chat:gpt-4.1-2025-04-14')).toBeCloseTo(2.8, 6)
  })

  it('is what the price function says, if there is one', async () => {
    expect(await costOn('groq:openai/gpt-oss-120b', { price: () => 7 })).toBe(7)
  })

  it('is not known, and never 0, for other models and on other servers', async () => {
    expect(await costOn('groq:some-new-model')).toBeUndefined()
    expect(await costOn('groq:openai/gpt-oss-120b', { baseUrl: 'http://127.0.0.1:1' })).toBeUndefined()
  })

  it('counts for the limit of a run', async () => {
    const spent = costOn('groq:openai/gpt-oss-120b', { limits: { cost: 0.1 } })
    expect(await spent).toBeGreaterThan(0.1)
  })
})
