import { addUsage } from '../../src/messages/result.ts'
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

/** A model for embeddings behind HTTP: several batches at a time, each tried again where that may help. */
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
        const batches = batchesOf(texts, protocol.batchSize, protocol.batchTokens)
        const answers = await inParallel(batches, async (batch) => {
          const place = { provider, model, connection: from.connection(), error, signal, timeouts }
          const wanted = protocol.request(batch, target)
          const body = await retrying(() => httpJson(place, wanted), signal, retry)
          return protocol.read(body, batch.length, target)
        })
        const vectors = answers.flatMap((answer) => answer.vectors)
        const usage = answers.map((answer) => answer.usage).reduce(addUsage, undefined)
        return { vectors, ...(usage && { usage }) }
      }
      return inTime(all, { signal, ...(timeouts && { timeouts }) })
    },
  }
}

/** Requests that run at the same time: enough to hide the wait, and too few for a rate limit. */
const concurrency = 4

const inParallel = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  const queue = [...items.entries()]
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item; item = queue.shift()) {
      const [at, value] = item
      results[at] = await work(value)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker))
  return results
}

/** The texts in portions that a provider takes: neither too many texts, nor too many tokens. */
export const batchesOf = (
  texts: readonly string[],
  batchSize: number,
  batchTokens: number = Number.POSITIVE_INFINITY,
): string[][] => {
  const batches: string[][] = []
  let tokens = 0
  for (const text of texts) {
    const size = tokensOf(text)
    const batch = batches.at(-1)
    if (batch && batch.length < batchSize && tokens + size <= batchTokens) {
      batch.push(text)
      tokens += size
    } else {
      batches.push([text])
      tokens = size
    }
  }
  return batches
}

/** An estimate that is rather too high: three bytes are about one token of most languages, and English has four. */
const tokensOf = (text: string): number => Math.ceil(new TextEncoder().encode(text).length / 3)
