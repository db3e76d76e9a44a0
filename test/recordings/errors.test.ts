import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Agent, ModelError } from '../../src/index.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { loopback, type Reply } from '../loopback.ts'
import {
  hasRecordings,
  loadErrors,
  loadReplayer,
  missingRecordings,
  protocols,
  providerOf,
  type Recording,
} from './recordings.ts'

// Whatever a provider answers instead of a stream reaches the caller in the provider's own words, typed, and without
// the key that was sent.

if (!hasRecordings) console.log(missingRecordings)

/** Looks like nothing in particular: only because it was sent it is known to be secret. */
const key = 'planted0123456789abcdefghij'

const failureOf = async (protocol: string, baseUrl: string): Promise<ModelError> => {
  const agent = new Agent(providerOf(protocol), { baseUrl, apiKey: key, retry: { maxRetries: 0 } })
  try {
    await agent.send('hi')
  } catch (error) {
    if (error instanceof ModelError) return error
    throw error
  }
  throw new Error('The provider refused, and no error was reported.')
}

const bodyOf = ({ response }: Recording): JsonObject => {
  const body: unknown = JSON.parse(response.body)
  const first: unknown = Array.isArray(body) ? body[0] : body
  return isJsonObject(first) ? first : {}
}

/** The object that says what is wrong. */
const problemOf = (body: JsonObject): JsonObject => (isJsonObject(body.error) ? body.error : body)

const textOf = (body: JsonObject): string => {
  const { message, detail, error } = { ...body, ...problemOf(body) }
  const text = [message, detail, error].find((each) => typeof each === 'string') ?? ''
  // A text that looks like a key is never repeated.
  return text.replace(/\bsk-[-_A-Za-z0-9]{16,}/g, '***')
}

const wordsOf = (body: JsonObject): string[] => {
  const { code, status, type } = problemOf(body)
  return [code, status, type].filter((word) => word !== undefined && word !== null).map(String)
}

/** Everything a logger could get out of an error. */
const everythingIn = (error: Error): string =>
  [
    error.message,
    error.stack,
    JSON.stringify(error),
    inspect(error, { depth: 20 }),
    inspect(error.cause),
  ].join()

const retryable = (status: number): boolean => [408, 409, 429].includes(status) || status >= 500

describe.skipIf(!hasRecordings).each(protocols)('%s', (protocol) => {
  const recordings = hasRecordings ? loadErrors(protocol) : []
  const replay = (recording: Recording, changes: Partial<Reply> = {}): Promise<{ url: string }> =>
    loopback(() => ({
      status: recording.response.status,
      headers: { 'content-type': recording.response.contentType ?? 'application/json' },
      body: recording.response.body,
      ...changes,
    }))

  test.each(recordings)('$id is reported as it was', async (recording) => {
    const server = await (await loadReplayer()).serve({ chunking: 'random' })
    const error = await failureOf(protocol, server.add(recording))
    await server.close()
    const body = bodyOf(recording)
    const words = wordsOf(body)

    expect(error.message).toContain(textOf(body))
    expect(error.message.length).toBeGreaterThan(5)
    expect(error.provider).toBe(providerOf(protocol))
    expect(error.status).toBe(recording.response.status)
    expect(error.retryable).toBe(retryable(recording.response.status))
    if (words.length > 0) expect(words).toContain(error.code)
    if (typeof body.request_id === 'string') expect(error.requestId).toBe(body.request_id)
    if (protocol === 'cohere') expect(error.requestId).toBe(body.id)
    expect(error.partial).toMatchObject({ output: '', messages: [{ role: 'user' }], finishReason: 'error' })
    expect(everythingIn(error)).not.toContain(key)
  })

  test.each(recordings)('$id is reported although the status says that all is well', async (recording) => {
    const body = bodyOf(recording)
    const { url } = await replay(recording, { status: 200 })
    const error = await failureOf(protocol, url)
    expect(error.message).toContain(textOf(body))
    expect(error.provider).toBe(providerOf(protocol))
  })

  test.each(recordings)('$id does not give the key away when the provider repeats it', async (recording) => {
    const echo = JSON.stringify(`You sent ${key} in "authorization: Bearer ${key}".`).slice(1, -1)
    const text = recording.response.body.replace(/("(?:message|detail|error)": ?")/, `$1${echo}`)
    const body = text === recording.response.body ? `${echo} ${text}` : text
    for (const status of [recording.response.status, 200]) {
      const { url } = await replay(recording, { status, body })
      const error = await failureOf(protocol, url)
      expect(error.message).toContain('You sent ***')
      expect(everythingIn(error)).not.toContain(key)
    }
  })

  test('the request id comes from the header where the body has none', async () => {
    const headers = { 'content-type': 'application/json', 'x-request-id': 'req_header' }
    const { url } = await loopback(() => ({ status: 400, headers, body: { message: 'no', error: 'no' } }))
    expect((await failureOf(protocol, url)).requestId).toBe('req_header')
  })

  test.each([408, 409, 429, 500, 502, 503, 529])(
    '%i is tried again, other errors are not',
    async (status) => {
      const { url, requests } = await loopback((_, nth) => ({
        status: nth === 0 ? status : 404,
        headers: { 'retry-after-ms': '1' },
        body: { error: { message: `no ${nth}` } },
      }))
      const agent = new Agent(providerOf(protocol), { baseUrl: url, apiKey: key })
      await expect(agent.send('hi')).rejects.toMatchObject({ status: 404, retryable: false })
      expect(requests).toHaveLength(2)
    },
  )

  test.each([
    ['seconds', 'retry-after', () => '7', 7000],
    ['milliseconds', 'retry-after-ms', () => '1234', 1234],
    ['a date', 'retry-after', () => new Date(Date.now() + 20_000).toUTCString(), 20_000],
    ['too much', 'retry-after', () => '86400', 60_000],
  ])('waits as long as the server asks for: %s', async (kind, header, wish, delayMs) => {
    const { url } = await loopback(() => ({
      status: 429,
      headers: { [header]: wish() },
      body: { error: { message: 'slow' } },
    }))
    const actor = new Agent(providerOf(protocol), { baseUrl: url, apiKey: key }).actor({ prompt: 'hi' })
    const retry = await new Promise<{ delayMs: number }>((resolve) => {
      actor.on('retry', resolve)
      actor.start()
    })
    actor.stop()
    // Dates have no fractions of a second, and the clock moves on, on a busy machine for long.
    expect(retry.delayMs).toBeGreaterThan(delayMs - (kind === 'a date' ? 15_000 : 500))
    expect(retry.delayMs).toBeLessThanOrEqual(delayMs)
  })
})
