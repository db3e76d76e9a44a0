import { describe, expect, test } from 'vitest'
import { Agent, type AgentOptions, ConfigurationError, ModelError } from '../../src/index.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { loopback, type Received, type Reply } from '../loopback.ts'
import {
  hasRecordings,
  loadEmbeddings,
  loadReplayer,
  missingRecordings,
  protocols,
  providerOf,
  type Recording,
} from './recordings.ts'
import { list, object } from './wireItems.ts'

// Vectors as the provider gave them, one for each text and in their order, however many requests that takes.

if (!hasRecordings) console.log(missingRecordings)

const textsIn = ({ request }: Recording): string[] => {
  const { input, texts, requests, images } = isJsonObject(request.body) ? request.body : {}
  const entries: JsonValue[] = [input ?? texts ?? requests ?? images ?? ['']].flat()
  return entries.map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry)))
}

/** All lists of numbers in an answer, read without knowing its shape. */
const vectorsIn = (value: JsonValue): JsonValue[] => {
  if (Array.isArray(value)) return typeof value[0] === 'number' ? [value] : value.flatMap(vectorsIn)
  return isJsonObject(value) ? Object.values(value).flatMap(vectorsIn) : []
}

const tokensIn = (body: JsonObject): JsonValue | undefined =>
  object(body.usage).prompt_tokens ??
  object(body.usageMetadata).promptTokenCount ??
  object(object(body.meta).billed_units).input_tokens ??
  body.prompt_eval_count

describe.skipIf(!hasRecordings)('a recorded answer', () => {
  const recordings = hasRecordings ? protocols.flatMap(loadEmbeddings) : []

  test.each(recordings)('$id gives its vectors and counts', async (recording) => {
    const server = await (await loadReplayer()).serve({ chunking: 'random' })
    const options = { baseUrl: server.add(recording), apiKey: 'key' }
    const agent = new Agent(`${providerOf(recording.protocol)}?embeddings=some-model`, options)
    const texts = textsIn(recording)
    const answer = await agent.embedDocuments(texts)
    const single = texts.length === 1 ? await agent.embedQuery(texts[0] ?? '') : undefined
    await server.close()

    const body = JSON.parse(recording.response.body)
    const vectors = vectorsIn(body)
    expect(answer.embeddings).toHaveLength(texts.length)
    // Base64 holds no list of numbers that could be read without knowing about it.
    if (vectors.length > 0) expect(answer.embeddings).toEqual(vectors)
    else expect(new Set(answer.embeddings.map(({ length }) => length))).toEqual(new Set([1536]))
    expect(answer.model).toBe('some-model')
    expect(answer.usage?.inputTokens).toBe(tokensIn(body))
    if (single) expect(single.embeddings).toEqual(answer.embeddings[0])
  })
})

/** The texts of a request, in whichever shape it came. */
const asked = ({ body }: Received): string[] =>
  body.requests
    ? list(body.requests).map(({ content }) => String(list(object(content).parts)[0]?.text))
    : [body.input ?? body.texts ?? []].flat().map(String)

/** A server that makes vectors everyone can check: the number in the text, the length of the text. */
const vectorOf = (text: string): number[] => [Number(/\d+/.exec(text)?.[0] ?? -1), text.length]

const answerTo = (request: Received): Reply => {
  const vectors = asked(request).map(vectorOf)
  if (request.path.includes('batchEmbedContents'))
    return {
      body: { embeddings: vectors.map((values) => ({ values })), usageMetadata: { promptTokenCount: 2 } },
    }
  if (request.path === '/embed' && request.body.texts)
    return { body: { embeddings: { float: vectors }, meta: { billed_units: { input_tokens: 2 } } } }
  if (request.path === '/embed') return { body: { embeddings: vectors, prompt_eval_count: 2 } }
  const data = vectors.map((embedding, index) => ({ object: 'embedding', embedding, index }))
  return { body: { data: data.toReversed(), usage: { prompt_tokens: 2, total_tokens: 2 } } }
}

const batchSizes = {
  openai: 2048,
  'openai-responses': 2048,
  openrouter: 96,
  together: 128,
  fireworks: 8,
  nvidia: 50,
  'ollama-openai': 512,
  google: 100,
  ollama: 512,
  mistral: 256,
  cohere: 96,
}

const agentAt = (provider: string, baseUrl: string, options: AgentOptions = {}) =>
  new Agent(provider, { baseUrl, apiKey: 'key', ...options })

describe.each(Object.entries(batchSizes))('%s', (provider, size) => {
  test(`takes ${size} texts at a time and keeps their order`, async () => {
    const { url, requests } = await loopback(answerTo)
    const texts = Array.from({ length: size * 2 + 1 }, (_, nth) => `text ${nth}`)
    const { embeddings, usage } = await agentAt(provider, url).embedDocuments(texts)
    expect(requests.map((request) => asked(request).length)).toEqual([size, size, 1])
    expect(embeddings).toEqual(texts.map(vectorOf))
    expect(usage?.inputTokens).toBe(6)
  })

  test('asks for the size of the vectors', async () => {
    const { url, requests } = await loopback(answerTo)
    await agentAt(provider, url).embedQuery('text 1', { dimensions: 64 })
    const { body } = requests[0] ?? {}
    const wanted = object(list(body?.requests)[0]).outputDimensionality
    expect(wanted ?? body?.dimensions ?? body?.output_dimension).toBe(64)
  })

  test('asks nothing for nothing', async () => {
    const { url, requests } = await loopback(answerTo)
    expect((await agentAt(provider, url).embedDocuments([])).embeddings).toEqual([])
    expect(requests).toEqual([])
  })

  test('tries again when the provider is busy, and not when it refuses', async () => {
    const busy = { status: 429, headers: { 'retry-after-ms': '1' }, body: { error: { message: 'busy' } } }
    const { url, requests } = await loopback((request, nth) => (nth === 0 ? busy : answerTo(request)))
    expect((await agentAt(provider, url).embedQuery('text 7')).embeddings).toEqual([7, 6])
    expect(requests).toHaveLength(2)

    const refusing = await loopback(() => ({ status: 400, body: { error: { message: 'No such model' } } }))
    const refused = agentAt(provider, refusing.url).embedQuery('text 7')
    await expect(refused).rejects.toBeInstanceOf(ModelError)
    await expect(refused).rejects.toMatchObject({
      status: 400,
      provider,
      message: expect.stringContaining('No such model'),
    })
    expect(refusing.requests).toHaveLength(1)
  })

  test('stops when its signal is aborted', async () => {
    const { url, requests } = await loopback(answerTo)
    const options = { signal: AbortSignal.abort() }
    await expect(agentAt(provider, url).embedQuery('text 1', options)).rejects.toMatchObject({
      name: 'AbortedError',
    })
    expect(requests.length).toBeLessThanOrEqual(1)
  })
})

test.each(['anthropic', 'groq'])('%s says that it makes no embeddings', async (provider) => {
  const agent = new Agent(provider, { apiKey: 'key' })
  await expect(agent.embedQuery('text')).rejects.toThrow(ConfigurationError)
  await expect(agent.embedDocuments(['text'])).rejects.toThrow(/does not make embeddings/)
})

test('a question and the texts it searches are distinguished where the provider can', async () => {
  const kinds = async (provider: string) => {
    const { url, requests } = await loopback(answerTo)
    const agent = agentAt(provider, url)
    await agent.embedQuery('text 1')
    await agent.embedDocuments(['text 1'])
    return requests.map(({ body }) => body.input_type ?? list(body.requests)[0]?.taskType)
  }
  expect(await kinds('cohere')).toEqual(['search_query', 'search_document'])
  expect(await kinds('nvidia')).toEqual(['query', 'passage'])
  expect(await kinds('google')).toEqual(['RETRIEVAL_QUERY', 'RETRIEVAL_DOCUMENT'])
  expect(await kinds('openai')).toEqual([undefined, undefined])
})
