import type { JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { WireRequest } from '../wire/protocol.ts'

/** Which model makes the vectors, of what size, and what for: some models distinguish a question from what it searches. */
export type EmbeddingsTarget = {
  provider: string
  model: string
  dimensions?: number
  purpose: 'query' | 'document'
  /** Merged into the request last, untouched. */
  providerOptions?: JsonObject
}

/** The vectors of one request, in the order of its texts. */
export type Embeddings = { vectors: number[][]; usage?: Usage }

/** How a provider turns texts into vectors. Pure, like the chat protocols. */
export type EmbeddingsProtocol = {
  readonly name: string
  /** The most texts the provider takes in one request. */
  readonly batchSize: number
  request(texts: string[], target: EmbeddingsTarget): WireRequest
  /** Reads the parsed answer to a request of `count` texts; throws a `ModelError` if it is not one vector for each. */
  read(body: unknown, count: number, target?: EmbeddingsTarget): Embeddings
}

/** The texts in portions a provider takes. */
export const batchesOf = (texts: readonly string[], batchSize: number): string[][] =>
  Array.from({ length: Math.ceil(texts.length / batchSize) }, (_, nth) =>
    texts.slice(nth * batchSize, (nth + 1) * batchSize),
  )
