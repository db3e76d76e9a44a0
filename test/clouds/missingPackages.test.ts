import { afterEach, expect, test, vi } from 'vitest'
import { Agent, ConfigurationError } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { eventStreamType, saying, streamOf } from './eventStream.ts'

// Only users of Bedrock install its packages; an error names the one that is missing.

vi.mock('aws4fetch', () => {
  throw new Error("Cannot find package 'aws4fetch'")
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.doUnmock('@smithy/eventstream-codec')
})

const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret-access-key' }

test('a signature needs aws4fetch, a key of Bedrock does not', async () => {
  vi.stubEnv('AWS_REGION', 'eu-central-1')
  const { url, requests } = await loopback(() => ({
    headers: eventStreamType,
    body: streamOf(saying('hello')),
  }))
  const signed = new Agent('bedrock', { baseUrl: url, apiKey: credentials }).send('hi')
  await expect(signed).rejects.toBeInstanceOf(ConfigurationError)
  await expect(signed).rejects.toThrow(/aws4fetch is needed to sign requests.*npm install aws4fetch/)
  expect(requests).toEqual([])
  expect((await new Agent('bedrock', { baseUrl: url, apiKey: 'a-key' }).send('hi')).output).toBe('hello')
})

test('a stream needs @smithy/eventstream-codec, and is not asked for without', async () => {
  vi.doMock('@smithy/eventstream-codec', () => {
    throw new Error("Cannot find package '@smithy/eventstream-codec'")
  })
  const { url, requests } = await loopback(() => ({ body: '' }))
  const asked = new Agent('bedrock', { baseUrl: url, apiKey: 'a-key' }).send('hi')
  await expect(asked).rejects.toBeInstanceOf(ConfigurationError)
  await expect(asked).rejects.toThrow(/npm install @smithy\/eventstream-codec/)
  expect(requests).toEqual([])
})

test('no other provider needs either', async () => {
  const { url } = await loopback(() => ({
    body: 'data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  }))
  expect((await new Agent('openai:x', { baseUrl: url }).send('hi')).output).toBe('hello')
})
