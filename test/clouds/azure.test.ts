import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, ConfigurationError, listModels } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { helloFrom } from '../presets/helloAnswers.ts'

// OpenAI's models on Azure: below /openai/v1, by deployment, with a key or a token of Entra ID.

beforeEach(() => {
  for (const name of ['AZURE_OPENAI_API_KEY', 'AZURE_OPENAI_ENDPOINT']) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const server = (provider: string) =>
  loopback(({ method, path }) => {
    if (method === 'GET') return { body: { data: [{ id: 'gpt-5.4' }] } }
    return path.endsWith('/embeddings')
      ? { body: { data: [{ index: 0, embedding: [1, 0] }] } }
      : { body: helloFrom(provider) }
  })

describe.each([
  ['azure', '/openai/v1/chat/completions'],
  ['azure-responses', '/openai/v1/responses'],
  ['azure-chat', '/openai/v1/chat/completions'],
])('%s', (provider, path) => {
  test('sends a key as api-key, and names the deployment in the body', async () => {
    const { url, requests } = await server(provider)
    const options = { baseUrl: `${url}/openai/v1/`, apiKey: 'the-key' }
    const { output } = await new Agent(`${provider}:my-deployment`, options).send('hi')
    expect(output).toBe('hello')
    expect(requests[0]).toMatchObject({
      method: 'POST',
      path,
      body: { model: 'my-deployment' },
      headers: { 'api-key': 'the-key' },
    })
    expect(requests[0]?.headers).not.toHaveProperty('authorization')
  })

  test('sends a token of Entra ID, which comes from a function, as bearer', async () => {
    const { url, requests } = await server(provider)
    const options = { baseUrl: `${url}/openai/v1`, apiKey: async () => 'entra-token' }
    await new Agent(`${provider}:my-deployment`, options).send('hi')
    expect(requests[0]?.headers.authorization).toBe('Bearer entra-token')
    expect(requests[0]?.headers).not.toHaveProperty('api-key')
  })

  test('makes embeddings with a deployment, and lists models', async () => {
    const { url, requests } = await server(provider)
    const options = { baseUrl: `${url}/openai/v1`, apiKey: 'the-key' }
    await new Agent(`${provider}?chat=a&embeddings=my-vectors`, options).embedQuery('text')
    expect(await listModels(provider, options)).toMatchObject([{ id: 'gpt-5.4' }])
    expect(requests.map(({ method, path, body }) => [method, path, body.model])).toEqual([
      ['POST', '/openai/v1/embeddings', 'my-vectors'],
      ['GET', '/openai/v1/models', undefined],
    ])
    for (const { headers } of requests) expect(headers['api-key']).toBe('the-key')
  })

  test('must know its resource, and says how', async () => {
    const asking = new Agent(`${provider}:x`, { apiKey: 'k' }).send('hi')
    await expect(asking).rejects.toBeInstanceOf(ConfigurationError)
    await expect(asking).rejects.toThrow(
      `${provider} needs to know its server: set AZURE_OPENAI_ENDPOINT in the environment, or pass baseUrl.`,
    )
  })

  test('must know an embeddings deployment, and says so', async () => {
    const agent = new Agent(`${provider}:x`, { apiKey: 'k', baseUrl: 'http://127.0.0.1:1' })
    await expect(agent.embedQuery('text')).rejects.toThrow(/has no default model/)
  })

  test('misses its key with advice', async () => {
    vi.stubEnv('AZURE_OPENAI_ENDPOINT', 'https://acme.openai.azure.com')
    await expect(new Agent(`${provider}:x`).send('hi')).rejects.toThrow(
      /AZURE_OPENAI_API_KEY, or pass apiKey: a key, or a function that returns an Entra ID token/,
    )
  })
})

test.each([
  ['gpt-4.1', {}, '/chat/completions'],
  ['gpt-6-luna', {}, '/responses'],
  ['team-7-prod', {}, '/responses'],
  ['team-7-prod', { profile: { like: 'gpt-4.1' } }, '/chat/completions'],
])('on a host of Azure the model %s %j is asked at %s', async (deployment, options, path) => {
  const { url } = await server(path === '/responses' ? 'azure-responses' : 'azure')
  const seen: string[] = []
  const agent = new Agent(`azure:${deployment}`, {
    baseUrl: 'https://acme.openai.azure.com/openai/v1',
    apiKey: 'k',
    connection: {
      fetch: (input, init) => {
        seen.push(String(input))
        return fetch(url, init)
      },
    },
    ...options,
  })
  expect((await agent.send('hi')).output).toBe('hello')
  expect(seen).toEqual([`https://acme.openai.azure.com/openai/v1${path}`])
})

test.each([
  ['https://acme.openai.azure.com/openai/v1', true],
  ['https://acme.cognitiveservices.azure.com/openai/v1', true],
  ['https://acme.services.ai.azure.com/openai/v1', true],
  ['https://acme.openai.azure.us/openai/v1', true],
  ['https://openai.azure.com.example/openai/v1', false],
  ['https://acme.azurewebsites.net/openai/v1', false],
  ['http://acme.openai.azure.com/openai/v1', false],
])('the key of the environment goes to %s: %s', async (baseUrl, isSent) => {
  vi.stubEnv('AZURE_OPENAI_API_KEY', 'from-environment')
  const { url, requests } = await server('azure')
  await new Agent('azure-chat:x', { baseUrl, connection: { fetch: (_, init) => fetch(url, init) } }).send(
    'hi',
  )
  expect(requests[0]?.headers['api-key']).toBe(isSent ? 'from-environment' : undefined)
})
