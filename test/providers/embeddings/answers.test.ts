import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EmbeddingsTarget } from '../../../providers/embeddings/vectors.ts'
import { ModelError } from '../../../src/messages/errors.ts'
import { protocolOf } from './protocolOf.ts'

const read = (provider: string, body: unknown, count: number) => protocolOf(provider)?.read(body, count)
const readAsked = (body: unknown, asked: Partial<EmbeddingsTarget>) =>
  protocolOf('openai')?.read(body, 1, { provider: 'openai', model: 'm', purpose: 'query', ...asked })
    .vectors[0]
const item = (embedding: unknown, index?: number) => ({
  object: 'embedding',
  embedding,
  ...(index !== undefined && { index }),
})

describe('answers in the shape of OpenAI', () => {
  it('give one vector per text, and the counts', () => {
    const body = { data: [item([1, 2], 0), item([3, 4], 1)], usage: { prompt_tokens: 5, total_tokens: 6 } }
    expect(read('openai', body, 2)).toEqual({
      vectors: [
        [1, 2],
        [3, 4],
      ],
      usage: { inputTokens: 5, totalTokens: 6 },
    })
  })

  it('are put in order by their index', () => {
    const body = { data: [item([3], 2), item([1], 0), item([2], 1)] }
    expect(read('openai', body, 3)).toEqual({ vectors: [[1], [2], [3]] })
  })

  it('keep their order when the index is missing or always the same', () => {
    expect(read('openai', { data: [item([1]), item([2])] }, 2)?.vectors).toEqual([[1], [2]])
    expect(read('openai', { data: [item([1], 0), item([2], 0)] }, 2)?.vectors).toEqual([[1], [2]])
  })

  it('may be 32-bit floats in base64', () => {
    const base64 = Buffer.from(new Float32Array([0.5, -1.25]).buffer).toString('base64')
    expect(read('openai', { data: [item(base64, 0)] }, 1)?.vectors).toEqual([[0.5, -1.25]])
  })
})

describe('bytes in base64', () => {
  const bytes = [12, -7, 127, -128, 0, 3, -1, 55]
  const body = { data: [item(Buffer.from(Int8Array.from(bytes)).toString('base64'), 0)] }
  const unsigned = bytes.map((byte) => (byte + 256) % 256)

  it.each([{ encoding_format: 'base64_int8' }, { output_dtype: 'int8', encoding_format: 'base64' }])(
    'are read as what was asked for: %j',
    (providerOptions) => {
      expect(readAsked(body, { providerOptions })).toEqual(bytes)
    },
  )

  it.each([{ output_dtype: 'uint8' }, { output_dtype: 'ubinary', encoding_format: 'base64' }])(
    'may be unsigned: %j',
    (providerOptions) => {
      expect(readAsked(body, { providerOptions })).toEqual(unsigned)
    },
  )

  it('that were not asked for are recognised by their number, or by the floats they would be', () => {
    expect(readAsked(body, { dimensions: 8 })).toEqual(bytes)
    expect(readAsked(body, {})).toEqual(bytes)
  })

  it('of any real vector are never taken for floats, nor floats for bytes', () => {
    const values = fc.array(fc.integer({ min: -128, max: 127 }), { minLength: 64, maxLength: 64 })
    fc.assert(
      fc.property(values, (vector) => {
        const numbers = [...vector.slice(0, 60), -3, 5, -20, -1]
        const data = [item(Buffer.from(Int8Array.from(numbers)).toString('base64'), 0)]
        expect(readAsked({ data }, {})).toEqual(numbers)
      }),
    )
    const floats = fc.array(
      fc.integer({ min: -1e9, max: 1e9 }).map((whole) => whole / 1e9),
      { minLength: 1, maxLength: 64 },
    )
    fc.assert(
      fc.property(floats, (vector) => {
        const data = [item(Buffer.from(new Float32Array(vector).buffer).toString('base64'), 0)]
        expect(readAsked({ data }, {})).toEqual([...new Float32Array(vector)])
      }),
    )
  })
})

describe('answers in other shapes', () => {
  it('of google are lists of values, or one', () => {
    const many = {
      embeddings: [{ values: [1] }, { values: [2] }],
      usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
    }
    expect(read('google', many, 2)).toEqual({
      vectors: [[1], [2]],
      usage: { inputTokens: 4, totalTokens: 4 },
    })
    expect(read('google', { embedding: { values: [1] } }, 1)).toEqual({ vectors: [[1]] })
    const predictions = [{ embeddings: { values: [1], statistics: { token_count: 2 } } }]
    expect(read('google', { predictions }, 1)).toEqual({ vectors: [[1]] })
  })

  it('of cohere are sorted by type, or a plain list', () => {
    const meta = { billed_units: { input_tokens: 3 } }
    expect(read('cohere', { embeddings: { int8: [[9]], float: [[1]] }, meta }, 1)).toEqual({
      vectors: [[1]],
      usage: { inputTokens: 3 },
    })
    expect(read('cohere', { embeddings: { int8: [[9]] } }, 1)).toEqual({ vectors: [[9]] })
    expect(read('cohere', { embeddings: [[1]] }, 1)).toEqual({ vectors: [[1]] })
  })

  it('of ollama are plain lists', () => {
    expect(read('ollama', { embeddings: [[1, 2]], prompt_eval_count: 4 }, 1)).toEqual({
      vectors: [[1, 2]],
      usage: { inputTokens: 4 },
    })
    expect(read('ollama', { embedding: [1, 2] }, 1)).toEqual({ vectors: [[1, 2]] })
  })
})

describe('an answer that does not fit is refused with the reason', () => {
  it.each([
    ['openai', { data: [item([1], 0)] }, 2, /openai holds 1 embeddings for 2 texts/],
    ['openai', { data: [item([1], 0), item([2], 1)] }, 1, /holds 2 embeddings for 1 texts/],
    ['openai', { data: [item([1], 0), item([2], 5)] }, 2, /no embedding with index 1/],
    ['openai', { data: [item([], 0)] }, 1, /no vector for text 0/],
    ['openai', { data: [item([1, 'x'], 0)] }, 1, /no vector for text 0/],
    ['openai', { data: [item('AAA=', 0)] }, 1, /no vector for text 0/],
    ['openai', { data: ['x'] }, 1, /0 embeddings for 1 texts/],
    ['openai', { object: 'list' }, 1, /holds no embeddings/],
    ['openai', 'oops', 1, /not a JSON object/],
    ['google', { embeddings: [{ values: [1] }, null] }, 2, /no vector for text 1/],
    ['google', {}, 1, /holds no embeddings/],
    ['google', { predictions: [{}] }, 1, /no vector for text 0/],
    ['cohere', { embeddings: {} }, 1, /holds no embeddings/],
    ['ollama', { embeddings: [] }, 1, /0 embeddings for 1 texts/],
  ])('%s: %j for %i', (provider, body, count, reason) => {
    expect(() => read(provider, body, count)).toThrow(ModelError)
    expect(() => read(provider, body, count)).toThrow(reason)
  })
})

const recordings = resolve(import.meta.dirname, '../../../../shared/recordings/embeddings')
const isThere = existsSync(recordings)
if (!isThere) console.info(`Skipped: there are no recorded embeddings at ${recordings}`)

describe.skipIf(!isThere)('recorded answers', () => {
  const files = isThere
    ? readdirSync(recordings).flatMap((folder) =>
        readdirSync(resolve(recordings, folder)).map((file) => [folder, file] as const),
      )
    : []

  it.each(files)('%s/%s gives a vector for every text', (folder, file) => {
    const { request, response } = JSON.parse(readFileSync(resolve(recordings, folder, file), 'utf8'))
    const { input, texts, images, requests, content } = request.body
    const count = [input ?? texts ?? images ?? requests ?? content].flat().length
    const body = JSON.parse(response.body)
    const { vectors, usage } = read(folder === 'openai-chat' ? 'openai' : folder, body, count) ?? {}
    expect(vectors).toHaveLength(count)
    const sizes = new Set(vectors?.map((vector) => vector.length))
    expect(sizes.size).toBe(1)
    const wanted = request.body.output_dimension ?? request.body.requests?.[0].outputDimensionality
    if (wanted) expect(sizes).toContain(wanted)
    // Embeddings are unit vectors, or nearly: a wrong byte order or a lost digit would show here.
    for (const vector of vectors ?? []) expect(Math.hypot(...vector)).toBeGreaterThan(0.1)
    for (const vector of vectors ?? []) expect(Math.hypot(...vector)).toBeLessThan(2)
    if (body.usage) expect(usage?.inputTokens).toBe(body.usage.prompt_tokens)
  })
})
