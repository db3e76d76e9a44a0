import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { version } from '../../package.json'
import { Agent, type AgentOptions, ConfigurationError, listModels, listProviders } from '../../src/index.ts'
import { type Loopback, loopback } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'

// Which server is asked, on which path, and with which headers beside the key.

beforeEach(() => {
  for (const { keyVariable, serverVariables } of listProviders())
    for (const name of [keyVariable, ...serverVariables]) if (name) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const hello = (provider = 'openai'): Promise<Loopback> =>
  loopback(({ method }) => ({ body: method === 'GET' ? { data: [{ id: 'a' }] } : helloFrom(provider) }))

describe('the environment names the server', () => {
  test.each([
    ['openai', 'OPENAI_BASE_URL', '/v1', '/v1/chat/completions'],
    ['openai-responses', 'OPENAI_BASE_URL', '/v1/', '/v1/responses'],
    ['groq', 'GROQ_BASE_URL', '', '/openai/v1/chat/completions'],
    ['anthropic', 'ANTHROPIC_BASE_URL', '/gateway', '/gateway/v1/messages'],
    ['anthropic', 'ANTHROPIC_BASE_URL', '/gateway/v1', '/gateway/v1/messages'],
    ['google', 'GOOGLE_GEMINI_BASE_URL', '/', '/v1beta/models/some-model:streamGenerateContent?alt=sse'],
    ['cohere', 'CO_API_URL', '', '/v2/chat'],
    ['mistral', 'MISTRAL_BASE_URL', '/v1', '/v1/chat/completions'],
    ['ollama', 'OLLAMA_HOST', '', '/api/chat'],
    ['ollama-openai', 'OLLAMA_HOST', '', '/v1/chat/completions'],
  ])('of %s in %s', async (provider, variable, suffix, path) => {
    const { url, requests } = await hello(provider)
    vi.stubEnv(variable, `${url}${suffix}`)
    const { output } = await new Agent(`${provider}:some-model`).send('hi')
    expect(output).toBe('hello')
    expect(requests.map((request) => request.path)).toEqual([path])
  })

  test('but baseUrl wins', async () => {
    const { url, requests } = await hello()
    vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:1/v1')
    await new Agent('openai', { baseUrl: url }).send('hi')
    await listModels('openai', { baseUrl: url })
    expect(requests).toHaveLength(2)
  })

  test('and a blank one names none', async () => {
    vi.stubEnv('OPENAI_BASE_URL', '  ')
    await expect(new Agent('openai').send('hi')).rejects.toThrow(/OPENAI_API_KEY/)
  })

  test('but gets no key of the environment for it', async () => {
    const { url, requests } = await hello()
    vi.stubEnv('OPENAI_BASE_URL', url)
    vi.stubEnv('OPENAI_API_KEY', 'from-environment')
    await new Agent('openai:x').send('hi')
    expect(requests[0]?.headers).not.toHaveProperty('authorization')
  })

  test('and is then another server, whose quirks are not known', async () => {
    const { url, requests } = await hello()
    vi.stubEnv('OPENAI_BASE_URL', url)
    await new Agent('openai:qwen3', { maxOutputTokens: 7 }).send('hi')
    expect(requests[0]?.body).toMatchObject({ max_tokens: 7 })
  })
})

test('OpenAI’s own regional hosts are OpenAI', async () => {
  const { url, requests } = await hello()
  const options = { baseUrl: 'https://eu.api.openai.com/v1', apiKey: 'k', maxOutputTokens: 7 }
  await new Agent('openai-chat', { ...options, connection: { fetch: (_, init) => fetch(url, init) } }).send(
    'hi',
  )
  expect(requests[0]?.body).toMatchObject({ max_completion_tokens: 7 })
})

describe('headers', () => {
  test('of a preset go with every request, lists included', async () => {
    const { url, requests } = await hello('anthropic')
    const options = { baseUrl: url, apiKey: 'k' }
    await new Agent('anthropic', options).send('hi')
    await listModels('anthropic', options)
    expect(requests.map(({ headers }) => headers['anthropic-version'])).toEqual(['2023-06-01', '2023-06-01'])
  })

  test('of the user win over those of a preset', async () => {
    const { url, requests } = await hello('anthropic')
    const options = { baseUrl: url, apiKey: 'k', headers: { 'Anthropic-Version': '2030-01-01' } }
    await new Agent('anthropic', options).send('hi')
    await listModels('anthropic', options)
    expect(requests.map(({ headers }) => headers['anthropic-version'])).toEqual(['2030-01-01', '2030-01-01'])
  })

  test('say who asks, in which version', async () => {
    const { url, requests } = await hello()
    await new Agent('openai', { baseUrl: url }).send('hi')
    expect(requests[0]?.headers['user-agent']).toBe(`statewire/${version}`)
  })

  const forms: [string, NonNullable<AgentOptions['headers']>][] = [
    ['an object', { 'X-Team': 'research', authorization: 'Bearer mine', 'x-none': undefined }],
    ['a Headers', new Headers({ 'X-Team': 'research', authorization: 'Bearer mine' })],
    [
      'a list of pairs',
      [
        ['X-Team', 'research'],
        ['Authorization', 'Bearer mine'],
      ],
    ],
  ]

  test.each(forms)('may be %s', async (_, headers) => {
    const { url, requests } = await hello()
    const options = { baseUrl: url, apiKey: 'theirs', headers }
    await new Agent('openai', options).send('hi')
    await listModels('openai', options)
    for (const request of requests) {
      expect(request.headers).toMatchObject({ 'x-team': 'research', authorization: 'Bearer mine' })
      expect(request.headers).not.toHaveProperty('x-none')
    }
  })

  test.each(forms)('that are %s may carry the key', async (_, headers) => {
    const { url, requests } = await hello()
    await new Agent('openai-chat', { headers, connection: { fetch: (_, init) => fetch(url, init) } }).send(
      'hi',
    )
    expect(requests[0]?.headers.authorization).toBe('Bearer mine')
  })

  test.each([[7], ['x-team: research'], [{ 'x-team': 7 }], [['x-team', 'research']]])(
    'that are %j are refused',
    async (headers) => {
      const options = JSON.parse(JSON.stringify({ baseUrl: 'http://127.0.0.1:1', headers }))
      const ask = async () => new Agent('openai', options).send('hi')
      await expect(ask()).rejects.toThrow(/headers must be/)
    },
  )
})

describe('the name of a model stays in its place', () => {
  test.each(['../../v2/files', 'models/../../x', './x', 'a/../b', 'tunedModels/../x'])(
    'for Gemini: %j is refused, and nothing is sent',
    async (model) => {
      const { url, requests } = await hello('google')
      const agent = new Agent(`google?chat=${model}&embeddings=${model}`, {
        baseUrl: `${url}/v1beta`,
        apiKey: 'k',
      })
      await expect(agent.send('hi')).rejects.toBeInstanceOf(ConfigurationError)
      await expect(agent.embedQuery('hi')).rejects.toBeInstanceOf(ConfigurationError)
      expect(requests).toEqual([])
    },
  )

  test.each(['..', '%2e%2e/x', '..\\..\\x', 'x#y', 'x;y'])(
    'for Gemini: %j is only a strange name',
    async (model) => {
      const { url, requests } = await loopback(() => ({ body: helloFrom('google') }))
      await new Agent(`google:${model}`, { baseUrl: `${url}/v1beta` }).send('hi')
      expect(requests[0]?.path).toMatch(/^\/v1beta\/models\/[^?#]+:streamGenerateContent\?alt=sse$/)
    },
  )
})
