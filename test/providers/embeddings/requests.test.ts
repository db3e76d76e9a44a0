import type { Content, EmbedContentConfig } from '@google/genai'
import type { EmbeddingRequest$Outbound } from '@mistralai/mistralai/models/components/embeddingrequest.js'
import type { EmbedRequest } from 'ollama'
import type { EmbeddingCreateParams } from 'openai/resources/embeddings'
import { describe, expect, it } from 'vitest'
import type { V2EmbedRequest } from '../../../node_modules/cohere-ai/serialization/resources/v2/client/requests/V2EmbedRequest'
import { batchesOf } from '../../../providers/embeddings/httpEmbeddingsModel.ts'
import type { EmbeddingsTarget } from '../../../providers/embeddings/vectors.ts'
import { protocolOf } from './protocolOf.ts'

const request = (provider: string, model: string, rest: Partial<EmbeddingsTarget> = {}) =>
  protocolOf(provider)?.request(['a', 'b'], { provider, model, purpose: 'document', ...rest })

/** A request of a `batchEmbedContents` body; the SDK has types for its fields only. */
type GoogleRequest = { model: string; content: Content } & Pick<
  EmbedContentConfig,
  'taskType' | 'outputDimensionality'
>

describe('each provider is asked in its own words', () => {
  it('openai', () => {
    const golden = {
      model: 'text-embedding-3-small',
      input: ['a', 'b'],
      dimensions: 256,
      user: 'me',
    } satisfies EmbeddingCreateParams
    const asked = { dimensions: 256, providerOptions: { user: 'me' } }
    expect(request('openai', 'text-embedding-3-small', asked)).toEqual({
      path: '/embeddings',
      body: golden,
    })
  })

  it.each(['together', 'fireworks', 'ollama-openai'])('%s, like openai', (provider) => {
    expect(request(provider, 'm')).toEqual({ path: '/embeddings', body: { model: 'm', input: ['a', 'b'] } })
  })

  it('nvidia, which must know what the texts are for', () => {
    expect(request('nvidia', 'm')?.body.input_type).toBe('passage')
    expect(request('nvidia', 'm', { purpose: 'query' })?.body.input_type).toBe('query')
  })

  it('openrouter, which passes on what the texts are for', () => {
    expect(request('openrouter', 'm')?.body.input_type).toBe('search_document')
    expect(request('openrouter', 'm', { purpose: 'query' })?.body.input_type).toBe('search_query')
  })

  it('mistral', () => {
    const golden = {
      model: 'codestral-embed',
      input: ['a', 'b'],
      output_dimension: 64,
    } satisfies EmbeddingRequest$Outbound
    expect(request('mistral', 'codestral-embed', { dimensions: 64 })).toEqual({
      path: '/embeddings',
      body: golden,
    })
  })

  it('cohere', () => {
    const golden = {
      model: 'embed-v4.0',
      texts: ['a', 'b'],
      input_type: 'search_query',
      embedding_types: ['float'],
      output_dimension: 512,
      truncate: 'NONE',
    } satisfies V2EmbedRequest.Raw
    const asked = {
      dimensions: 512,
      purpose: 'query' as const,
      providerOptions: { truncate: 'NONE' },
    }
    expect(request('cohere', 'embed-v4.0', asked)).toEqual({ path: '/embed', body: golden })
    expect(request('cohere', 'embed-v4.0')?.body.input_type).toBe('search_document')
  })

  it('ollama', () => {
    const golden = {
      model: 'nomic-embed-text',
      input: ['a', 'b'],
      dimensions: 128,
      options: { num_ctx: 2048 },
    } satisfies EmbedRequest
    const asked = { dimensions: 128, providerOptions: { options: { num_ctx: 2048 } } }
    expect(request('ollama', 'nomic-embed-text', asked)).toEqual({ path: '/embed', body: golden })
  })

  it('google, with a task type for the first generation', () => {
    const golden = ['a', 'b'].map(
      (text) =>
        ({
          model: 'models/gemini-embedding-001',
          content: { parts: [{ text }] },
          taskType: 'RETRIEVAL_QUERY',
          outputDimensionality: 768,
        }) satisfies GoogleRequest,
    )
    const asked = { dimensions: 768, purpose: 'query' as const }
    expect(request('google', 'models/gemini-embedding-001', asked)).toEqual({
      path: '/models/gemini-embedding-001:batchEmbedContents',
      body: { requests: golden },
    })
  })

  it('google, with the purpose in the text for the second', () => {
    const one = (text: string) =>
      ({ model: 'models/gemini-embedding-2', content: { parts: [{ text }] } }) satisfies GoogleRequest
    expect(request('google', 'gemini-embedding-2')?.body.requests).toEqual([
      one('title: none | text: a'),
      one('title: none | text: b'),
    ])
    expect(request('google', 'gemini-embedding-2', { purpose: 'query' })?.body.requests).toEqual([
      one('task: search result | query: a'),
      one('task: search result | query: b'),
    ])
  })

  it('google, with the user’s options in every request', () => {
    const asked = { providerOptions: { taskType: 'CLUSTERING' } }
    expect(request('google', 'gemini-embedding-001', asked)?.body.requests).toMatchObject([
      { taskType: 'CLUSTERING' },
      { taskType: 'CLUSTERING' },
    ])
  })
})

it.each([
  ['openai', 2048],
  ['google', 100],
  ['cohere', 96],
  ['mistral', 256],
])('%s takes no more than %i texts at once', (provider, size) => {
  expect(protocolOf(provider)?.batchSize).toBe(size)
})

it('splits texts into batches without losing or repeating one', () => {
  expect(batchesOf(['a', 'b', 'c', 'd', 'e'], 2)).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  expect(batchesOf(['a', 'b'], 2)).toEqual([['a', 'b']])
  expect(batchesOf([], 2)).toEqual([])
  // Nine bytes are taken for three tokens; a text that is too long alone goes alone, for the provider to judge.
  expect(batchesOf(['aaaaaaaaa', 'bbb', 'ccc', 'dddddddddddddddddd', 'e'], 9, 4)).toEqual([
    ['aaaaaaaaa', 'bbb'],
    ['ccc'],
    ['dddddddddddddddddd'],
    ['e'],
  ])
})
