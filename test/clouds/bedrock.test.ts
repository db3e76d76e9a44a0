import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions, ConfigurationError, listModels, tool } from '../../src/index.ts'
import { type Loopback, loopback, type Reply } from '../loopback.ts'
import {
  calling,
  chunkFrame,
  eventStreamType,
  exceptionFrame,
  frame,
  saying,
  streamOf,
} from './eventStream.ts'
import { signatureOf } from './signature.ts'

// Claude on Bedrock: the body is Anthropic's, the signature and the frames are those of AWS.

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'

beforeEach(() => {
  for (const name of [
    'AWS_BEARER_TOKEN_BEDROCK',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
  ])
    vi.stubEnv(name, undefined)
  vi.stubEnv('AWS_REGION', 'eu-central-1')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const framed =
  (...events: object[][]): ((request: unknown, nth: number) => Reply) =>
  (_, nth) => ({
    headers: eventStreamType,
    body: streamOf(events[nth] ?? events.at(-1) ?? []),
  })

const agentAt = ({ url }: Loopback, options: AgentOptions = {}) =>
  new Agent(`bedrock:${model}`, { baseUrl: url, apiKey: credentials, ...options })

describe('a request', () => {
  test('is Anthropic’s, with the model in the path and the version in the body', async () => {
    const server = await loopback(framed(saying('hello')))
    const { output, usage, id } = await agentAt(server, { maxOutputTokens: 50, system: 'Be brief.' }).send(
      'hi',
    )
    expect({ output, id }).toEqual({ output: 'hello', id: 'msg_bdrk_1' })
    expect(usage).toMatchObject({ inputTokens: 5, outputTokens: 7 })
    const [request] = server.requests
    expect(request).toMatchObject({
      method: 'POST',
      path: `/model/${encodeURIComponent(model)}/invoke-with-response-stream`,
      body: { anthropic_version: 'bedrock-2023-05-31', max_tokens: 50, messages: [{ role: 'user' }] },
    })
    for (const field of ['model', 'stream']) expect(request?.body).not.toHaveProperty(field)
    expect(request?.headers).not.toHaveProperty('anthropic-version')
  })

  test('has no limit for parallel calls, which Bedrock does not know', async () => {
    const server = await loopback(framed(saying('hello')))
    const weather = tool({ name: 'get_weather', description: 'Weather', execute: () => 'sunny' })
    await agentAt(server, { tools: [weather], parallelToolCalls: false, toolChoice: 'auto' }).send('hi')
    expect(server.requests[0]?.body.tool_choice).toEqual({ type: 'auto' })
  })

  test('for an inference profile keeps its name in one part of the path', async () => {
    const server = await loopback(framed(saying('hello')))
    const arn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc'
    await new Agent(`bedrock:${arn}`, { baseUrl: server.url, apiKey: credentials }).send('hi')
    expect(server.requests[0]?.path).toBe(`/model/${encodeURIComponent(arn)}/invoke-with-response-stream`)
    const [request] = server.requests
    if (!request) throw new Error('Nothing was asked.')
    const { signature, expected } = signatureOf(request, credentials.secretAccessKey)
    expect(signature).toBe(expected)
  })
})

describe('a signature', () => {
  test('is the one that AWS computes from what arrives', async () => {
    const server = await loopback(framed(saying('grüezi')))
    const headers = { 'x-team': 'research', 'x-amzn-bedrock-guardrailidentifier': 'g-1' }
    await agentAt(server, { headers }).send('Grüezi (äöü) — 你好!')
    const [request] = server.requests
    if (!request) throw new Error('Nothing was asked.')
    const { credential, signedHeaders, signature, expected } = signatureOf(
      request,
      credentials.secretAccessKey,
    )
    expect(credential).toMatch(/^AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request$/)
    expect(signedHeaders).toEqual(['host', 'x-amz-date', 'x-amzn-bedrock-guardrailidentifier'])
    expect(signature).toMatch(/^[0-9a-f]{64}$/)
    expect(signature).toBe(expected)
    expect(JSON.stringify(request)).not.toContain(credentials.secretAccessKey)
  })

  test('is another one when anything is changed on the way', async () => {
    const server = await loopback(framed(saying('hello')))
    await agentAt(server).send('hi')
    const [request] = server.requests
    if (!request) throw new Error('Nothing was asked.')
    const tampered = [
      { ...request, text: `${request.text} ` },
      { ...request, path: `${request.path}x` },
      { ...request, method: 'PUT' },
    ]
    for (const each of tampered) {
      const { signature, expected } = signatureOf(each, credentials.secretAccessKey)
      expect(signature).not.toBe(expected)
    }
    expect(signatureOf(request, 'another secret').expected).not.toBe(
      signatureOf(request, credentials.secretAccessKey).expected,
    )
  })

  test('covers the token of a session, and each request is signed by itself', async () => {
    const server = await loopback(framed(saying('hello')))
    let calls = 0
    const apiKey = async () => {
      calls += 1
      return { ...credentials, sessionToken: `session-${calls}` }
    }
    const agent = agentAt(server, { apiKey })
    await agent.send('hi')
    await agent.send('hi')
    for (const [nth, request] of server.requests.entries()) {
      expect(request.headers['x-amz-security-token']).toBe(`session-${nth + 1}`)
      const { signedHeaders, signature, expected } = signatureOf(request, credentials.secretAccessKey)
      expect(signedHeaders).toContain('x-amz-security-token')
      expect(signature).toBe(expected)
    }
  })

  test('also covers the list of models, with its query', async () => {
    const server = await loopback(() => ({ body: { modelSummaries: [{ modelId: 'anthropic.claude-x' }] } }))
    const models = await listModels('bedrock', { baseUrl: server.url, apiKey: credentials })
    expect(models.map(({ id }) => id)).toEqual(['anthropic.claude-x'])
    const [request] = server.requests
    if (!request) throw new Error('Nothing was asked.')
    const { signature, expected } = signatureOf(request, credentials.secretAccessKey)
    expect(signature).toBe(expected)
  })

  test('is renewed once where credentials have expired', async () => {
    const expired: Reply = {
      status: 403,
      headers: { 'x-amzn-errortype': 'ExpiredTokenException' },
      body: { message: 'The security token included in the request is expired' },
    }
    const server = await loopback((_, nth) => (nth === 0 ? expired : framed(saying('hello'))(_, nth)))
    expect((await agentAt(server, { apiKey: () => credentials }).send('hi')).output).toBe('hello')
    const always = await loopback(() => expired)
    const asking = agentAt(always, { apiKey: () => credentials }).send('hi')
    await expect(asking).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('is expired'),
    })
    expect(always.requests).toHaveLength(2)
  })

  test('takes the region from the host, and from the environment only at other hosts', async () => {
    vi.stubEnv('AWS_REGION', 'us-west-2')
    const server = await loopback(framed(saying('hello')))
    const detour: typeof fetch = (_, init) => fetch(server.url, init)
    const hosts = [
      'bedrock-runtime.ap-south-1.amazonaws.com',
      'vpce-1.bedrock-runtime.sa-east-1.vpce.amazonaws.com',
      'gateway.example',
    ]
    for (const host of hosts)
      await agentAt(server, { baseUrl: `https://${host}`, connection: { fetch: detour } }).send('hi')
    expect(server.requests.map(({ headers }) => headers.authorization?.split('/')[2])).toEqual([
      'ap-south-1',
      'sa-east-1',
      'us-west-2',
    ])
  })

  test('cannot be made without a region', async () => {
    vi.stubEnv('AWS_REGION', undefined)
    vi.stubEnv('AWS_DEFAULT_REGION', undefined)
    const asking = new Agent('bedrock', { baseUrl: 'https://gateway.example', apiKey: credentials }).send(
      'hi',
    )
    await expect(asking).rejects.toThrow(/set AWS_REGION/)
    await expect(new Agent('bedrock', { apiKey: credentials }).send('hi')).rejects.toThrow(
      /bedrock needs to know its server: set AWS_REGION in the environment, or pass baseUrl/,
    )
  })
})

describe('a key', () => {
  test('of Bedrock goes as bearer, unsigned', async () => {
    const server = await loopback(framed(saying('hello')))
    await agentAt(server, { apiKey: 'bedrock-api-key' }).send('hi')
    expect(server.requests[0]?.headers.authorization).toBe('Bearer bedrock-api-key')
    expect(server.requests[0]?.headers).not.toHaveProperty('x-amz-date')
  })

  test.each([
    ['AWS_BEARER_TOKEN_BEDROCK', /^Bearer from-environment$/],
    ['AWS_ACCESS_KEY_ID', /^AWS4-HMAC-SHA256 Credential=from-environment\/\d+\/eu-central-1\/bedrock/],
  ])('comes from %s, for hosts of AWS only', async (variable, expected) => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-environment')
    vi.stubEnv(variable, 'from-environment')
    const server = await loopback(framed(saying('hello')))
    const seen: string[] = []
    const detour: typeof fetch = (input, init) => {
      seen.push(new URL(String(input)).host)
      return fetch(server.url, init)
    }
    await new Agent('bedrock', { connection: { fetch: detour } }).send('hi')
    await new Agent('bedrock', { baseUrl: server.url }).send('hi')
    await new Agent('bedrock', {
      baseUrl: 'https://bedrock-runtime.eu-central-1.amazonaws.com.example',
      connection: { fetch: detour },
    }).send('hi')
    expect(seen[0]).toBe('bedrock-runtime.eu-central-1.amazonaws.com')
    const [first, ...others] = server.requests.map(({ headers }) => headers.authorization)
    expect(first).toMatch(expected)
    expect(others).toEqual([undefined, undefined])
  })

  test('that is missing is asked for', async () => {
    await expect(new Agent('bedrock').send('hi')).rejects.toThrow(
      /AWS_BEARER_TOKEN_BEDROCK, or pass apiKey: a Bedrock key, AWS credentials, or a function that returns either/,
    )
  })
})

describe('a stream of frames', () => {
  test('carries a loop with tools', async () => {
    const server = await loopback(framed(calling('get_weather', { city: 'Oslo' }), saying('Sunny in Oslo.')))
    const weather = tool({
      name: 'get_weather',
      description: 'Weather',
      input: z.object({ city: z.string() }),
      execute: ({ city }) => `sunny in ${city}`,
    })
    const { output } = await agentAt(server, { tools: [weather] }).send('Weather in Oslo?')
    expect(output).toBe('Sunny in Oslo.')
    expect(server.requests[1]?.body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', input: { city: 'Oslo' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ])
  })

  test.each([
    ['throttlingException', 'rate_limit_error', true],
    ['internalServerException', 'api_error', true],
    ['modelStreamErrorException', 'api_error', true],
    ['serviceUnavailableException', 'overloaded_error', true],
    ['modelTimeoutException', 'timeout_error', true],
    ['validationException', 'invalid_request_error', false],
  ])('may end in a %s', async (type, code, retryable) => {
    const body = Buffer.concat([
      ...saying('half').slice(0, 3).map(chunkFrame),
      exceptionFrame(type, 'Too much.'),
    ])
    const server = await loopback(() => ({ headers: eventStreamType, body }))
    await expect(agentAt(server, { retry: { maxRetries: 0 } }).send('hi')).rejects.toMatchObject({
      name: 'ModelError',
      code,
      retryable,
      message: expect.stringContaining('Too much.'),
      partial: { output: 'half' },
    })
  })

  test('may end in an error of AWS that has no exception', async () => {
    const body = frame(
      { 'message-type': 'error', 'error-code': 'BadThing', 'error-message': 'It broke.' },
      '',
    )
    const server = await loopback(() => ({ headers: eventStreamType, body }))
    await expect(agentAt(server, { retry: { maxRetries: 0 } }).send('hi')).rejects.toMatchObject({
      code: 'BadThing',
      message: expect.stringContaining('It broke.'),
    })
  })

  test('that is cut anywhere is truncated, never complete', async () => {
    // Without its last two events: what follows the word of the end is only metrics.
    const whole = streamOf(saying('hello').slice(0, -2))
    for (const length of [0, 3, 40, whole.length - 200, whole.length - 1, whole.length]) {
      const server = await loopback(() => ({ headers: eventStreamType, body: whole.subarray(0, length) }))
      await expect(agentAt(server, { retry: { maxRetries: 0 } }).send('hi')).rejects.toMatchObject({
        name: 'ModelError',
        code: 'truncated',
      })
    }
  })

  test('with a flipped bit is refused', async () => {
    const body = Buffer.from(streamOf(saying('hello')))
    body[60] = (body[60] ?? 0) ^ 1
    const server = await loopback(() => ({ headers: eventStreamType, body }))
    await expect(agentAt(server, { retry: { maxRetries: 0 } }).send('hi')).rejects.toMatchObject({
      code: 'invalid_frame',
    })
  })

  test('that is an error of HTTP says what AWS says', async () => {
    const server = await loopback(() => ({
      status: 400,
      headers: { 'x-amzn-requestid': 'req-1', 'x-amzn-errortype': 'ValidationException' },
      body: { message: 'The provided model identifier is invalid.' },
    }))
    await expect(agentAt(server).send('hi')).rejects.toMatchObject({
      status: 400,
      requestId: 'req-1',
      message: expect.stringMatching(/^The provided model identifier is invalid\. \(bedrock:/),
    })
  })
})

test('a name that is .. goes nowhere', async () => {
  const server = await loopback(framed(saying('hello')))
  const asking = new Agent('bedrock:..', { baseUrl: server.url, apiKey: credentials }).send('hi')
  await expect(asking).rejects.toBeInstanceOf(ConfigurationError)
  expect(server.requests).toEqual([])
})
