import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions, ConfigurationError, ModelError, tool } from '../../src/index.ts'
import { type Loopback, loopback } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'

// OpenAI speaks two protocols, and refuses different things over each.

const clock = tool({ name: 'clock', description: 'The time', input: z.object({}), execute: () => 'noon' })

/** A server in the place of OpenAI's own host. */
const openaiHost = async (answer: Parameters<typeof loopback>[0]) => {
  const { url, requests } = await loopback(answer)
  const detour: typeof fetch = (input, init) => fetch(url + new URL(String(input)).pathname, init)
  return { requests, options: { apiKey: 'key', connection: { fetch: detour } } satisfies AgentOptions }
}

const over = (protocol: string) => openaiHost(() => ({ body: helloFrom(protocol) }))
const bodiesOf = ({ requests }: Pick<Loopback, 'requests'>) => requests.map(({ body }) => body)

describe('openai on its own host', () => {
  test.each([
    ['openai', 'openai-responses'],
    ['openai:gpt-6-luna', 'openai-responses'],
    ['openai:gpt-6.1-sol', 'openai-responses'],
    ['openai:gpt-5.6-terra', 'openai-responses'],
    ['openai:gpt-5.4', 'openai-responses'],
    ['openai:gpt-5.2-pro', 'openai-responses'],
    ['openai:gpt-5.3-codex', 'openai-responses'],
    ['openai:gpt-9-unheard-of', 'openai-responses'],
    ['openai:gpt-5.2', 'openai-chat'],
    ['openai:gpt-4.1-mini', 'openai-chat'],
    ['openai:o3', 'openai-chat'],
    ['openai:gpt-audio', 'openai-chat'],
    ['openai-chat:gpt-6-luna', 'openai-chat'],
    ['openai-responses:gpt-4.1', 'openai-responses'],
  ])('%s is reached over %s', async (model, protocol) => {
    const host = await over(protocol)
    const agent = new Agent(model, host.options)
    expect(agent.model.protocol).toBe(protocol)
    expect((await agent.send('hi')).output).toBe('hello')
    const place = protocol === 'openai-chat' ? '/v1/chat/completions' : '/v1/responses'
    expect(host.requests.map(({ path }) => path)).toEqual([place])
  })

  test('a base URL that says the same host is not another server', () => {
    expect(new Agent('openai', { baseUrl: 'https://api.openai.com/v1/' }).model.protocol).toBe(
      'openai-responses',
    )
  })

  test('on another server it speaks what every compatible server has', () => {
    expect(new Agent('openai', { baseUrl: 'http://localhost:8000/v1' }).model.protocol).toBe('openai-chat')
  })

  test('the newest model calls tools while it thinks', async () => {
    const host = await over('openai-responses')
    await new Agent('openai', { ...host.options, tools: [clock], thinking: { effort: 'max' } }).send('hi')
    expect(bodiesOf(host)).toMatchObject([
      { model: 'gpt-6-luna', reasoning: { effort: 'max' }, tools: [{ name: 'clock' }] },
    ])
  })
})

describe('chat completions of models that do not take tools while they think', () => {
  test('are asked not to think where there are tools', async () => {
    const host = await over('openai-chat')
    await new Agent('openai-chat:gpt-6-luna', { ...host.options, tools: [clock] }).send('hi')
    await new Agent('openai-chat:gpt-6-luna', { ...host.options, thinking: { effort: 'low' } }).send('hi')
    expect(bodiesOf(host)).toMatchObject([{ reasoning_effort: 'none' }, { reasoning_effort: 'low' }])
  })

  test.each<[string, AgentOptions, RegExp]>([
    [
      'openai-chat:gpt-6-luna',
      { thinking: true },
      /Set thinking: false, or use the Responses API: "openai:gpt-6-luna"/,
    ],
    ['openai-chat:gpt-6.1-sol', {}, /Use the Responses API: "openai:gpt-6.1-sol"/],
  ])('refuse %s with %j before anything is sent', async (model, options, message) => {
    const host = await over('openai-chat')
    const asking = new Agent(model, { ...host.options, ...options, tools: [clock] }).send('hi')
    await expect(asking).rejects.toBeInstanceOf(ConfigurationError)
    await expect(asking).rejects.toThrow(message)
    expect(host.requests).toEqual([])
  })
})

describe('summaries of thinking', () => {
  const refusal = {
    status: 400,
    body: {
      error: {
        message: 'Your organization must be verified to generate reasoning summaries.',
        type: 'invalid_request_error',
        param: 'reasoning.summary',
        code: 'unsupported_value',
      },
    },
  }
  const unverified = () =>
    openaiHost(({ body }) =>
      JSON.stringify(body).includes('"summary"') ? refusal : { body: helloFrom('openai-responses') },
    )

  test('are given up where OpenAI refuses them, for this request and all later ones', async () => {
    const host = await unverified()
    const agent = new Agent('openai:gpt-6-luna', { ...host.options, thinking: { effort: 'high' } })
    expect((await agent.send('one')).output).toBe('hello')
    expect((await agent.send('two')).output).toBe('hello')
    expect(bodiesOf(host).map(({ reasoning }) => reasoning)).toEqual([
      { effort: 'high', summary: 'auto' },
      { effort: 'high' },
      { effort: 'high' },
    ])
  })

  test('are never asked for where the profile says so', async () => {
    const host = await unverified()
    const options = { ...host.options, thinking: true, profile: { reasoningSummary: false } }
    await new Agent('openai', options).send('hi')
    expect(bodiesOf(host)).toMatchObject([{ reasoning: { effort: 'medium' } }])
  })

  test('are not blamed for other refusals', async () => {
    const host = await openaiHost(() => ({ status: 400, body: { error: { message: 'No such effort.' } } }))
    const asking = new Agent('openai', { ...host.options, thinking: true }).send('hi')
    await expect(asking).rejects.toBeInstanceOf(ModelError)
    expect(host.requests).toHaveLength(1)
  })
})

describe('a profile of the user’s', () => {
  test('says which model a name means, protocol included', () => {
    const baseUrl = 'https://api.openai.com/v1'
    const like = (model: string) => new Agent('openai:team-7', { baseUrl, profile: { like: model } }).model
    expect(like('gpt-4.1')).toMatchObject({
      model: 'team-7',
      protocol: 'openai-chat',
      profile: { thinking: false, window: 1_047_576 },
    })
    expect(like('gpt-6-luna')).toMatchObject({ protocol: 'openai-responses', profile: { thinking: true } })
  })

  test('overrules single fields, and of attachments only those it names', () => {
    const { profile } = new Agent('groq', { profile: { attachments: { images: true }, thinking: false } })
      .model
    expect(profile).toMatchObject({ thinking: false, attachments: { images: true, pdf: false, links: true } })
  })

  test('is what requests are made by', async () => {
    const host = await over('openai-chat')
    const options = { ...host.options, temperature: 0.5, profile: { like: 'gpt-4.1' } }
    await new Agent('openai:team-7', options).send('hi')
    expect(bodiesOf(host)).toMatchObject([{ model: 'team-7', temperature: 0.5 }])
  })

  test('belongs to a model and not to its fallbacks', () => {
    const fallback = { model: 'openai:team-7', profile: { like: 'gpt-4.1' } }
    expect(() => new Agent('openai', { fallback: [fallback] }).machine).not.toThrow()
  })
})
