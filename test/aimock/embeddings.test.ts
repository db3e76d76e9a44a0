import { expect, test } from 'vitest'
import { cosineSimilarity } from '../../src/index.ts'
import { agentAt, places, startMock } from './mockServer.ts'

// The mock does not know Google's request for several texts, which is the only one we send.
const embedding = places.filter(({ provider }) =>
  ['openai', 'openai-responses', 'openrouter', 'mistral', 'ollama', 'cohere'].includes(provider),
)

test.each(embedding)('$provider gets the vectors of its texts', async (place) => {
  const mock = await startMock()
  mock.onEmbedding('fjord', { embedding: [1, 0, 0] }).onEmbedding('desert', { embedding: [0, 1, 0] })
  const agent = agentAt(mock, place)
  const { embeddings: query } = await agent.embedQuery('fjord')
  const { embeddings: documents } = await agent.embedDocuments(['desert'])
  expect(query).toEqual([1, 0, 0])
  expect(documents).toEqual([[0, 1, 0]])
  expect(cosineSimilarity(query, documents[0] ?? [])).toBe(0)
})
