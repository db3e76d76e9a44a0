import { describe, expect, test } from 'vitest'
import { ConfigurationError, listModels, listProviders, ModelError } from '../../src/index.ts'
import { loopback } from '../loopback.ts'

// The models of a provider, whatever shape its list has.

const openaiList = { object: 'list', data: [{ id: 'model-a', owned_by: 'x' }, { id: 'vendor/model-b:free' }] }

/** The answer of each provider, where it differs from OpenAI, and the place of the list. */
const lists: Record<string, { path: string; body: object; ids: string[] }> = {
  together: {
    path: '/models',
    body: [
      { id: 'meta/llama', type: 'chat' },
      { id: 'qwen', type: 'chat' },
    ],
    ids: ['meta/llama', 'qwen'],
  },
  anthropic: {
    path: '/models?limit=1000',
    body: { data: [{ type: 'model', id: 'claude-sonnet-5' }], has_more: false },
    ids: ['claude-sonnet-5'],
  },
  google: {
    path: '/models?pageSize=1000',
    body: { models: [{ name: 'models/gemini-3-flash' }, { name: 'models/gemini-embedding-001' }] },
    ids: ['gemini-3-flash', 'gemini-embedding-001'],
  },
  ollama: {
    path: '/tags',
    body: { models: [{ name: 'qwen3:8b', model: 'qwen3:8b', size: 1 }] },
    ids: ['qwen3:8b'],
  },
  bedrock: {
    path: '/foundation-models?byOutputModality=TEXT',
    body: { modelSummaries: [{ modelId: 'anthropic.claude-sonnet-5', modelName: 'Claude Sonnet 5' }] },
    ids: ['anthropic.claude-sonnet-5'],
  },
  cohere: {
    path: '/models?page_size=1000',
    body: { models: [{ name: 'command-a-03-2025', endpoints: ['chat'] }] },
    ids: ['command-a-03-2025'],
  },
}

const withList = listProviders().filter(({ capabilities }) => capabilities.includes('listModels'))

describe.each(withList)('$name', ({ name }) => {
  const { path, body, ids } = lists[name] ?? {
    path: '/models',
    body: openaiList,
    ids: ['model-a', 'vendor/model-b:free'],
  }

  test('lists its models with what it says about them', async () => {
    const { url, requests } = await loopback(() => ({ body }))
    const models = await listModels(name, { baseUrl: url, apiKey: 'the-key' })
    expect(models.map(({ id }) => id)).toEqual(ids)
    for (const { details } of models) expect(Object.keys(details).length).toBeGreaterThan(0)
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([`GET ${path}`])
    expect(JSON.stringify(requests[0]?.headers)).toContain('the-key')
    expect(requests[0]?.headers).not.toHaveProperty('content-type')
  })

  test('says why it cannot', async () => {
    const { url } = await loopback(() => ({ status: 403, body: { error: { message: 'Not for you' } } }))
    const listing = listModels(name, { baseUrl: url, apiKey: 'the-key' })
    await expect(listing).rejects.toBeInstanceOf(ModelError)
    await expect(listing).rejects.toMatchObject({
      provider: name,
      status: 403,
      message: expect.stringContaining('Not for you'),
    })
  })

  test('gives an empty list for an answer without one', async () => {
    const { url } = await loopback(() => ({ body: { data: [null, 'x', {}] } }))
    expect(await listModels(name, { baseUrl: url, apiKey: 'the-key' })).toEqual([])
  })
})

test('Cohere is asked at its older API, which alone has the list', async () => {
  const seen: string[] = []
  const { url } = await loopback(() => ({ body: { models: [{ name: 'command-a' }] } }))
  const options = {
    apiKey: 'the-key',
    connection: {
      fetch: ((input, init) => {
        seen.push(String(input))
        return fetch(url, init)
      }) as typeof fetch,
    },
  }
  await listModels('cohere', options)
  expect(seen).toEqual(['https://api.cohere.com/v1/models?page_size=1000'])
})

test('an option of the connection that is written beside it is refused', async () => {
  const misplaced = { apiKey: 'k', fetch } as never
  await expect(listModels('openai', misplaced)).rejects.toThrow('write connection: { fetch }')
})

test('an unknown provider is refused', async () => {
  await expect(listModels('missing')).rejects.toThrow(ConfigurationError)
})

test('an aborted listing ends', async () => {
  const { url } = await loopback(() => ({ body: openaiList }))
  const listing = listModels('openai', { baseUrl: url, signal: AbortSignal.abort() })
  await expect(listing).rejects.toMatchObject({ name: 'AbortedError' })
})
