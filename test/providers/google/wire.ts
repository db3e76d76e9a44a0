import { geminiProfile, google } from '../../../providers/google/index.ts'
import type { Delta } from '../../../src/model/delta.ts'

export const target = {
  provider: 'google',
  model: 'gemini-3-flash',
  profile: geminiProfile('gemini-3-flash'),
}

/** The deltas of all chunks, and of the end. */
export const decode = (chunks: readonly (object | string)[], isBroken?: boolean): Delta[] => {
  const decoder = google.decoder(target)
  const deltas = chunks.flatMap((chunk) =>
    decoder.push({ data: typeof chunk === 'string' ? chunk : JSON.stringify(chunk) }),
  )
  return [...deltas, ...decoder.end(isBroken)]
}

/** A promise about a stream: its name, its chunks, and all deltas that come out. */
export type Row = [string, (object | string)[], object[]]

export const parts = (...list: unknown[]) => ({ candidates: [{ content: { parts: list } }] })
export const stop = { candidates: [{ finishReason: 'STOP' }] }
export const stopped = { type: 'finish', reason: 'stop', raw: 'STOP' }
export const called = { type: 'finish', reason: 'toolCalls', raw: 'STOP' }
export const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
export const invalid = (data: string, problem = 'is not valid JSON') =>
  failed({
    message: `The provider sent an event that ${problem}: ${data}`,
    code: 'invalid_json',
    retryable: true,
  })
export const metadata = (values: object) => ({ type: 'metadata', metadata: values })
export const opaque = (...bones: object[]) => ({
  type: 'opaque',
  protocol: 'google',
  data: { provider: 'google', parts: bones },
})
