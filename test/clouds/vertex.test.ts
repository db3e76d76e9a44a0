import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Agent, ConfigurationError, linkPart, tool } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { helloFrom } from '../presets/helloAnswers.ts'

// Gemini and Claude on Google's cloud: below a project and a location, with an access token or a key.

beforeEach(() => {
  for (const name of ['GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'])
    vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const project = '/v1/projects/acme/locations/europe-west4'
const token = async () => 'an-access-token'

const serverOf = (protocol: string) => loopback(() => ({ body: helloFrom(protocol) }))

const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  input: z.object({ city: z.string() }),
  execute: () => 'sunny',
})

describe('Gemini', () => {
  test.each([
    ['gemini-3.8-flash', '/publishers/google/models/gemini-3.8-flash'],
    ['models/gemini-3.8-flash', '/publishers/google/models/gemini-3.8-flash'],
    ['publishers/google/models/gemini-3.8-flash', '/publishers/google/models/gemini-3.8-flash'],
    ['endpoints/123', '/endpoints/123'],
  ])('%s is asked below the project, as a stream of events', async (model, resource) => {
    const { url, requests } = await serverOf('google')
    const agent = new Agent(`vertex:${model}`, {
      baseUrl: `${url}${project}`,
      apiKey: token,
      tools: [weather],
    })
    expect((await agent.send('hi')).output).toBe('hello')
    expect(requests[0]).toMatchObject({
      method: 'POST',
      path: `${project}${resource}:streamGenerateContent?alt=sse`,
      headers: { authorization: 'Bearer an-access-token' },
      body: {
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
        tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
      },
    })
    expect(requests[0]?.headers).not.toHaveProperty('x-goog-api-key')
  })

  test('is the default', async () => {
    expect(new Agent('vertex').model).toMatchObject({ provider: 'vertex', model: 'gemini-3.8-flash' })
  })
})

describe('Claude', () => {
  test.each(['claude-sonnet-5-5', 'claude-sonnet-4-5@20250929'])(
    '%s is asked in its own words',
    async (model) => {
      const { url, requests } = await serverOf('anthropic')
      const options = { baseUrl: `${url}${project}`, apiKey: token, tools: [weather], maxOutputTokens: 100 }
      expect((await new Agent(`vertex:${model}`, options).send('hi')).output).toBe('hello')
      expect(requests[0]).toMatchObject({
        method: 'POST',
        path: `${project}/publishers/anthropic/models/${model}:streamRawPredict`,
        headers: { authorization: 'Bearer an-access-token' },
        body: {
          anthropic_version: 'vertex-2023-10-16',
          stream: true,
          max_tokens: 100,
          messages: [{ role: 'user' }],
          tools: [{ name: 'get_weather' }],
        },
      })
      expect(requests[0]?.body).not.toHaveProperty('model')
      expect(requests[0]?.headers).not.toHaveProperty('anthropic-version')
    },
  )

  test('gets betas as headers', async () => {
    const { url, requests } = await serverOf('anthropic')
    const headers = { 'anthropic-beta': 'some-beta' }
    await new Agent('vertex:claude-sonnet-5', { baseUrl: url, apiKey: token, headers }).send('hi')
    expect(requests[0]?.headers['anthropic-beta']).toBe('some-beta')
  })

  test('has the profile of the model, but for links and schemas', async () => {
    const { profile } = new Agent('vertex:claude-opus-4-5@20251101').model
    expect(profile).toMatchObject({
      nativeSchema: false,
      attachments: { links: false, pdf: true },
    })
    const page = linkPart('https://example.com/plan.png', 'image/png')
    const agent = new Agent('vertex:claude-sonnet-5', { apiKey: token, baseUrl: 'http://127.0.0.1:1' })
    await expect(agent.send('What is it?', { attachments: [page] })).rejects.toBeInstanceOf(
      ConfigurationError,
    )
  })
})

describe('the server', () => {
  test.each([
    ['europe-west4', 'europe-west4-aiplatform.googleapis.com'],
    ['us', 'aiplatform.us.rep.googleapis.com'],
    ['eu', 'aiplatform.eu.rep.googleapis.com'],
    ['global', 'aiplatform.googleapis.com'],
    [undefined, 'aiplatform.googleapis.com'],
  ])('of the location %s is %s, and gets the key of the environment', async (location, host) => {
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'acme')
    vi.stubEnv('GOOGLE_CLOUD_LOCATION', location)
    vi.stubEnv('GOOGLE_API_KEY', 'from-environment')
    const { url, requests } = await serverOf('anthropic')
    const seen: string[] = []
    const detour: typeof fetch = (input, init) => {
      seen.push(String(input))
      return fetch(url, init)
    }
    await new Agent('vertex:claude-sonnet-5', { connection: { fetch: detour } }).send('hi')
    const path = `projects/acme/locations/${location ?? 'global'}/publishers/anthropic/models/claude-sonnet-5`
    expect(seen).toEqual([`https://${host}/v1/${path}:streamRawPredict`])
    expect(requests[0]?.headers['x-goog-api-key']).toBe('from-environment')
  })

  test('is not made of what a location cannot be', async () => {
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'acme')
    vi.stubEnv('GOOGLE_CLOUD_LOCATION', 'x@example.com/')
    await expect(new Agent('vertex', { apiKey: token }).send('hi')).rejects.toThrow(
      /vertex needs to know its server: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION/,
    )
  })

  test.each(['aiplatform.googleapis.com.example', 'storage.googleapis.com', 'evil.example'])(
    'at %s gets no key of the environment',
    async (host) => {
      vi.stubEnv('GOOGLE_API_KEY', 'from-environment')
      const { url, requests } = await serverOf('google')
      await new Agent('vertex', {
        baseUrl: `https://${host}/v1`,
        connection: { fetch: (_, init) => fetch(url, init) },
      }).send('hi')
      expect(requests[0]?.headers).not.toHaveProperty('x-goog-api-key')
    },
  )

  test('may be given an access token as a text', async () => {
    const { url, requests } = await serverOf('google')
    await new Agent('vertex', { baseUrl: url, apiKey: 'ya29.token' }).send('hi')
    expect(requests[0]?.headers.authorization).toBe('Bearer ya29.token')
  })
})

test('a name with .. does not leave the project', async () => {
  for (const model of ['../../other/models/x', 'publishers/../x', 'claude/../../x']) {
    const { url, requests } = await serverOf('google')
    await expect(
      new Agent(`vertex:${model}`, { baseUrl: `${url}${project}`, apiKey: token }).send('hi'),
    ).rejects.toBeInstanceOf(ConfigurationError)
    expect(requests).toEqual([])
  }
})
