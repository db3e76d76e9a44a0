import { Agent as UndiciAgent } from 'undici'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, type AgentOptions, ConfigurationError, listProviders } from '../../src/index.ts'
import { type Loopback, loopback } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'

// Where a request goes, with which key and which headers.

const keyHeaders: Record<string, (key: string) => Record<string, string>> = {
  anthropic: (key) => ({ 'x-api-key': key }),
  google: (key) => ({ 'x-goog-api-key': key }),
  vertex: (key) => ({ 'x-goog-api-key': key }),
  azure: (key) => ({ 'api-key': key }),
  'azure-responses': (key) => ({ 'api-key': key }),
  'azure-chat': (key) => ({ 'api-key': key }),
}
const keyHeader = (provider: string, key: string): Record<string, string> =>
  keyHeaders[provider]?.(key) ?? { authorization: `Bearer ${key}` }

const paths: Record<string, string> = {
  'openai-responses': '/responses',
  anthropic: '/messages',
  google: '/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
  ollama: '/chat',
  cohere: '/chat',
  'azure-responses': '/responses',
  xai: '/responses',
  perplexity: '/responses',
  vertex: '/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
  bedrock: '/model/global.anthropic.claude-sonnet-5-5/invoke-with-response-stream',
}

/** The variables that a provider without its own server needs. */
const servers: Record<string, { variables: Record<string, string>; url: string }> = {
  azure: {
    variables: { AZURE_OPENAI_ENDPOINT: 'https://acme.openai.azure.com/' },
    url: 'https://acme.openai.azure.com/openai/v1',
  },
  'azure-responses': {
    variables: { AZURE_OPENAI_ENDPOINT: 'https://acme.services.ai.azure.com' },
    url: 'https://acme.services.ai.azure.com/openai/v1',
  },
  'azure-chat': {
    variables: { AZURE_OPENAI_ENDPOINT: 'https://acme.openai.azure.com/openai/v1/' },
    url: 'https://acme.openai.azure.com/openai/v1',
  },
  vertex: {
    variables: { GOOGLE_CLOUD_PROJECT: 'acme-1', GOOGLE_CLOUD_LOCATION: 'europe-west4' },
    url: 'https://europe-west4-aiplatform.googleapis.com/v1/projects/acme-1/locations/europe-west4',
  },
  cloudflare: {
    variables: { CLOUDFLARE_ACCOUNT_ID: 'acme-1' },
    url: 'https://api.cloudflare.com/client/v4/accounts/acme-1/ai/v1',
  },
  bedrock: {
    variables: { AWS_REGION: 'eu-central-1' },
    url: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
  },
}

/** The protocol that the model needs, on OpenAI's own host. */
const ownProtocol = (provider: string): string =>
  provider === 'openai' || provider === 'azure' ? 'openai-responses' : provider

beforeEach(() => {
  for (const { keyVariable, serverVariables } of listProviders())
    for (const name of [keyVariable, ...serverVariables, 'AWS_ACCESS_KEY_ID'])
      if (name) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const hello = (provider: string): Promise<Loopback> => loopback(() => ({ body: helloFrom(provider) }))

/** A fetch that brings requests to the provider's real host to a server of the test. */
const detour =
  (url: string, seen: string[]): typeof fetch =>
  (input, init) => {
    seen.push(String(input))
    return fetch(url, init)
  }

describe.each(listProviders())('$name', ({ name, keyVariable, baseUrl, defaultModel }) => {
  const { variables, url: ownUrl } = servers[name] ?? { variables: {}, url: baseUrl }
  const model = defaultModel === '' ? `${name}:some-model` : name
  const path = paths[name] ?? '/chat/completions'

  beforeEach(() => {
    for (const [variable, value] of Object.entries(variables)) vi.stubEnv(variable, value)
  })
  test('sends its request to the base URL, with the key in its header and never in the URL', async () => {
    const { url, requests } = await hello(name)
    const options = { baseUrl: `${url}/deep/path/`, apiKey: ' the-key\n' }
    expect((await new Agent(model, options).send('hi')).output).toBe('hello')
    const [request] = requests
    expect(request?.path).toBe(`/deep/path${path}`)
    expect(request?.headers).toMatchObject(keyHeader(name, 'the-key'))
    expect(request?.headers['content-type']).toBe('application/json')
    expect(JSON.stringify([request?.path, request?.body])).not.toContain('the-key')
    if (!['google', 'vertex', 'bedrock'].includes(name))
      expect(request?.body.model).toBe(defaultModel || 'some-model')
  })

  // That one has no server of its own.
  if (name !== 'openai-compatible')
    test('uses its own base URL and the key of its variable by default', async () => {
      if (keyVariable) vi.stubEnv(keyVariable, 'from-environment')
      const { url, requests } = await hello(ownProtocol(name))
      const seen: string[] = []
      await new Agent(model, { connection: { fetch: detour(url, seen) } }).send('hi')
      expect(seen).toEqual([`${ownUrl}${paths[ownProtocol(name)] ?? path}`])
      if (keyVariable) expect(requests[0]?.headers).toMatchObject(keyHeader(name, 'from-environment'))
      else expect(requests[0]?.headers).not.toHaveProperty('authorization')
    })

  test('prefers the key it is given to the one of the environment', async () => {
    if (keyVariable) vi.stubEnv(keyVariable, 'from-environment')
    const { url, requests } = await hello(name)
    await new Agent(model, { baseUrl: url, apiKey: 'given' }).send('hi')
    expect(requests[0]?.headers).toMatchObject(keyHeader(name, 'given'))
  })

  test('works without a key on another server, and then sends none', async () => {
    const { url, requests } = await hello(name)
    expect((await new Agent(model, { baseUrl: url }).send('hi')).output).toBe('hello')
    for (const header of ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'])
      expect(requests[0]?.headers).not.toHaveProperty(header)
  })

  test('lets the headers of the user win, whatever their case', async () => {
    const { url, requests } = await hello(name)
    const [header = ''] = Object.keys(keyHeader(name, ''))
    const headers = {
      [header.toUpperCase()]: 'mine',
      'User-Agent': 'my app',
      'X-Tenant': 'seven',
      'Content-Type': 'application/json; charset=utf-8',
    }
    await new Agent(model, { baseUrl: url, apiKey: 'theirs', headers }).send('hi')
    expect(requests[0]?.headers).toMatchObject({
      [header]: 'mine',
      'user-agent': 'my app',
      'x-tenant': 'seven',
      'content-type': 'application/json; charset=utf-8',
    })
  })

  test('goes through the dispatcher it is given', async () => {
    const { url } = await hello(name)
    const dispatcher = new UndiciAgent()
    const dispatched: unknown[] = []
    const watched = dispatcher.compose((dispatch) => (options, handler) => {
      dispatched.push(options.path)
      return dispatch(options, handler)
    })
    expect(
      (await new Agent(model, { baseUrl: url, connection: { dispatcher: watched } }).send('hi')).output,
    ).toBe('hello')
    expect(dispatched).toEqual([path])
    await dispatcher.close()
  })

  if (keyVariable)
    test('misses its key only when it needs it, and then names the variable', async () => {
      const agent = new Agent(model)
      for (const asking of [agent.send('hi'), drained(agent)]) {
        await expect(asking).rejects.toBeInstanceOf(ConfigurationError)
        await expect(asking).rejects.toThrow(`${name} needs an API key`)
        await expect(asking).rejects.toThrow(keyVariable)
      }
      vi.stubEnv(keyVariable ?? '', '')
      await expect(new Agent(model).send('hi')).rejects.toThrow(keyVariable)
    })
})

const drained = async (agent: Agent): Promise<void> => {
  for await (const _ of agent.sendStream('hi'));
}

test('a missing key is missed by embeddings too', async () => {
  await expect(new Agent('openai').embedQuery('text')).rejects.toThrow(/OPENAI_API_KEY/)
})

test('own headers may carry the key', async () => {
  const { url, requests } = await hello('openai-responses')
  const options: AgentOptions = {
    headers: { Authorization: 'Bearer mine' },
    connection: { fetch: detour(url, []) },
  }
  expect((await new Agent('openai', options).send('hi')).output).toBe('hello')
  expect(requests[0]?.headers.authorization).toBe('Bearer mine')
})

test('a base URL keeps its query, as some gateways keep a version there', async () => {
  const { url, requests } = await hello('openai')
  await new Agent('openai', { baseUrl: `${url}/openai?api-version=7` }).send('hi')
  expect(requests[0]?.path).toBe('/openai/chat/completions?api-version=7')
})

test.each(['localhost:8080', 'ftp://x', '', 'not a url'])('the base URL %j is refused clearly', (baseUrl) => {
  expect(() => new Agent('openai', { baseUrl })).toThrow(/baseUrl must be an absolute http/)
})
