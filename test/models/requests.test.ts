import { describe, expect, it } from 'vitest'
import { Agent, type AgentOptions, ConfigurationError, dataPart, tool } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { helloFrom } from '../presets/helloAnswers.ts'

// What a model refuses is not sent: the bodies that real presets write for real models.

const bodyFor = async (model: string, options: AgentOptions) => {
  const provider = model.split(':')[0] ?? ''
  const { url, requests } = await loopback(() => ({ body: helloFrom(provider) }))
  await new Agent(model, { baseUrl: url, ...options }).send('hi')
  return requests[0]?.body ?? {}
}

const thinkingFields = [
  'reasoning_effort',
  'reasoning',
  'thinking',
  'chat_template_kwargs',
  'think',
  'output_config',
]

describe('thinking', () => {
  it.each<[string, AgentOptions['thinking'] & {}, object]>([
    ['groq:openai/gpt-oss-120b', false, { reasoning_effort: 'low' }],
    ['together:openai/gpt-oss-120b', false, { reasoning_effort: 'low' }],
    ['fireworks:accounts/fireworks/models/gpt-oss-120b', false, { reasoning_effort: 'low' }],
    ['openai:gpt-oss-20b', false, { reasoning_effort: 'low' }],
    ['ollama:gpt-oss:20b', false, { think: 'low' }],
    ['ollama:qwen3:8b', false, { think: false }],
    ['ollama:llama3.3', true, {}],
    ['groq:qwen/qwen3.6-27b', { effort: 'high' }, {}],
    ['groq:qwen/qwen3.6-27b', false, { reasoning_effort: 'none' }],
    ['groq:llama-3.1-8b-instant', true, {}],
    ['moonshot:kimi-k2.6', { effort: 'high' }, { thinking: { type: 'enabled' } }],
    ['moonshot:kimi-k2.6', false, { thinking: { type: 'disabled' } }],
    ['moonshot:kimi-k3', { effort: 'high' }, { reasoning_effort: 'high' }],
    ['moonshot:kimi-latest', { effort: 'high' }, { reasoning_effort: 'high' }],
    ['together:moonshotai/Kimi-K3', { effort: 'high' }, { reasoning: { enabled: true } }],
    ['openrouter:openai/gpt-6-luna', { effort: 'max' }, { reasoning: { effort: 'xhigh' } }],
    ['nvidia', true, { chat_template_kwargs: { enable_thinking: true } }],
    ['openai:gpt-5.1', { effort: 'minimal' }, { reasoning_effort: 'low' }],
    ['openai:gpt-5-mini', false, { reasoning_effort: 'minimal' }],
    ['openai:o3', false, { reasoning_effort: 'low' }],
    ['openai:o3', { effort: 'max' }, { reasoning_effort: 'high' }],
    ['openai:gpt-4.1', true, {}],
    ['openai-responses:gpt-6.1-sol', false, { reasoning: { effort: 'low' } }],
    ['openai-responses:gpt-6-luna', false, { reasoning: { effort: 'none' } }],
    ['openai-responses:gpt-5-pro', { effort: 'low' }, { reasoning: { effort: 'high', summary: 'auto' } }],
    ['mistral:mistral-large-4', { effort: 'xhigh' }, { reasoning_effort: 'high' }],
    ['mistral:mistral-large-4', false, { reasoning_effort: 'low' }],
    ['mistral:mistral-medium-latest', { effort: 'low' }, { reasoning_effort: 'high' }],
    ['mistral:magistral-medium-latest', true, { reasoning_effort: 'high' }],
    ['mistral:codestral-latest', true, {}],
    [
      'cohere:command-a-plus-05-2026',
      { effort: 'max' },
      { thinking: { type: 'enabled', token_budget: 63_000 } },
    ],
    ['cohere:command-a-03-2025', true, {}],
  ])('%s with %j is sent %j', async (model, thinking, expected) => {
    const body = await bodyFor(model, { thinking })
    const sent = Object.entries(body).filter(([name]) => thinkingFields.includes(name))
    expect(Object.fromEntries(sent)).toEqual(expected)
  })

  it.each<[string, AgentOptions['thinking'] & {}, object]>([
    ['gemini-2.5-flash', { budgetTokens: 100_000 }, { includeThoughts: true, thinkingBudget: 24_576 }],
    ['gemini-2.5-flash', false, { thinkingBudget: 0 }],
    ['gemini-2.5-flash-lite', { budgetTokens: 100 }, { includeThoughts: true, thinkingBudget: 512 }],
    ['gemini-2.5-pro', { effort: 'max' }, { includeThoughts: true, thinkingBudget: 32_768 }],
    ['gemini-2.5-pro', false, { thinkingBudget: 128 }],
    ['gemini-3.8-flash', { effort: 'minimal' }, { includeThoughts: true, thinkingLevel: 'LOW' }],
    ['gemini-3.6-flash', false, { thinkingLevel: 'MINIMAL' }],
    ['gemma-4-31b-it', { effort: 'low' }, { includeThoughts: true, thinkingLevel: 'MINIMAL' }],
  ])('%s with %j is sent %j', async (model, thinking, expected) => {
    const body = await bodyFor(`google:${model}`, { thinking })
    expect(body.generationConfig).toEqual({ thinkingConfig: expected })
  })
})

describe('a forced tool', () => {
  const clock = tool({ name: 'clock', description: 'The time', execute: () => 'noon' })
  const forced: AgentOptions = { tools: [clock], toolChoice: 'required' }

  it.each<[string, AgentOptions, object]>([
    ['deepseek:deepseek-v4-pro', {}, { tool_choice: 'required', thinking: { type: 'disabled' } }],
    [
      'deepseek:deepseek-v4-pro',
      { thinking: { effort: 'max' } },
      { tool_choice: 'required', thinking: { type: 'disabled' } },
    ],
    ['moonshot:kimi-k2.6', {}, { tool_choice: 'required', thinking: { type: 'disabled' } }],
    ['moonshot:kimi-k3', {}, { tool_choice: 'required' }],
    ['alibaba:qwen3.8-max', {}, { tool_choice: 'required', enable_thinking: false }],
    ['zai:glm-5.3', {}, {}],
    ['zai:glm-5.3', { thinking: true }, { thinking: { type: 'enabled' } }],
  ])('of %s with %j is sent as %j', async (model, options, expected) => {
    const body = await bodyFor(model, { ...forced, ...options })
    const names = [...thinkingFields, 'enable_thinking', 'tool_choice']
    const sent = Object.entries(body).filter(([name]) => names.includes(name))
    expect(Object.fromEntries(sent)).toEqual(expected)
  })

  it('that thinking excludes, or that cannot be forced, is a warning', async () => {
    const warnings = async (model: string) => {
      const { url } = await loopback(() => ({ body: helloFrom('deepseek') }))
      return (await new Agent(model, { baseUrl: url, ...forced }).send('hi')).warnings
    }
    expect(await warnings('deepseek:deepseek-v4-pro')).toMatchObject([
      { setting: 'thinking', change: 'added' },
    ])
    expect(await warnings('zai:glm-5.3')).toMatchObject([{ setting: 'toolChoice', change: 'replaced' }])
  })
})

describe('settings', () => {
  it('leave parallel calls unsaid to models that refuse the word', async () => {
    const clock = tool({ name: 'clock', description: 'The time', execute: () => 'noon' })
    const options = { tools: [clock], parallelToolCalls: false }
    for (const provider of ['openai', 'openai-responses']) {
      expect(await bodyFor(`${provider}:gpt-4.1`, options)).toHaveProperty('parallel_tool_calls', false)
      expect(await bodyFor(`${provider}:o3`, options)).not.toHaveProperty('parallel_tool_calls')
    }
  })

  it('put the system prompt of Gemma before the first message', async () => {
    const body = await bodyFor('google:gemma-4-31b-it', { system: 'Be brief.' })
    expect(body).not.toHaveProperty('systemInstruction')
    expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'hi' }] }])
  })

  it('take a deployment for the model whose name it carries', async () => {
    const body = await bodyFor('openai:my-gpt-5-mini', { temperature: 1, maxOutputTokens: 9 })
    expect(body).not.toHaveProperty('temperature')
    expect(body).toMatchObject({ max_completion_tokens: 9 })
  })
})

describe('attachments', () => {
  const image = dataPart('image/png', 'AAAA')

  it.each([
    ['groq:openai/gpt-oss-120b', image, /cannot read/],
    ['ollama:qwen3:8b', image, /cannot read/],
    ['cohere:command-a-03-2025', image, /cannot read/],
    ['mistral:codestral-latest', image, /cannot read/],
    ['openai:gpt-6-luna', dataPart('audio/wav', 'AAAA'), /cannot read/],
    ['anthropic:claude-3-haiku-20240307', dataPart('application/pdf', 'AAAA'), /cannot read/],
  ])('%s refuses what it cannot read before anything is sent', async (model, part, message) => {
    const { url, requests } = await loopback(() => ({ body: '' }))
    const asking = new Agent(model, { baseUrl: url }).send('What is this?', { attachments: [part] })
    await expect(asking).rejects.toBeInstanceOf(ConfigurationError)
    await expect(asking).rejects.toThrow(message)
    expect(requests).toEqual([])
  })

  it('go where the user says that the model reads them', async () => {
    const { url, requests } = await loopback(() => ({ body: helloFrom('groq') }))
    const agent = new Agent('groq', { baseUrl: url, profile: { attachments: { images: true } } })
    await agent.send('What is this?', { attachments: [image] })
    expect(JSON.stringify(requests[0]?.body)).toContain('image_url')
  })
})
