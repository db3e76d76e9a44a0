import { addUsage, type Usage } from '../../src/messages/result.ts'
import type { Connection } from '../http/connection.ts'
import { httpJson, inTime, retrying } from '../http/httpJson.ts'
import type { EmbeddingsModel, RequestOptions } from '../provider.ts'
import type { WireError } from '../wire/protocol.ts'
import type { EmbeddingsProtocol } from './vectors.ts'

type HttpEmbeddingsModelOptions = {
  provider: string
  model: string
  protocol: EmbeddingsProtocol
  /** Makes the connection when there is something to embed, so that a missing key is reported only then. */
  connection(): Connection
  /** Reads error bodies. */
  error(body: unknown): WireError | undefined
  options: RequestOptions
}

/** A model for embeddings behind HTTP: batch after batch, each tried again where that may help. */
export const httpEmbeddingsModel = (from: HttpEmbeddingsModelOptions): EmbeddingsModel => {
  const { provider, model, protocol, error } = from
  const { retry, timeouts } = from.options
  return {
    provider,
    model,
    embed: (texts, purpose, { dimensions, signal, providerOptions } = {}) => {
      const target = {
        provider,
        model,
        purpose,
        ...(dimensions !== undefined && { dimensions }),
        ...(providerOptions && { providerOptions }),
      }
      const all = async (signal: AbortSignal) => {
        const vectors: number[][] = []
        let usage: Usage | undefined
        for (const batch of batchesOf(texts, protocol.batchSize)) {
          const place = { provider, connection: from.connection(), error, signal, timeouts }
          const wanted = protocol.request(batch, target)
          const body = await retrying(() => httpJson(place, wanted), signal, retry)
          const answer = protocol.read(body, batch.length, target)
          vectors.push(...answer.vectors)
          usage = addUsage(usage, answer.usage)
        }
        return { vectors, ...(usage && { usage }) }
      }
      return inTime(all, { signal, ...(timeouts && { timeouts }) })
    },
  }
}

/** The texts in portions that a provider takes. */
export const batchesOf = (texts: readonly string[], batchSize: number): string[][] =>
  Array.from({ length: Math.ceil(texts.length / batchSize) }, (_, nth) =>
    texts.slice(nth * batchSize, (nth + 1) * batchSize),
  )
