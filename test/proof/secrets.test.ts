import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { presets } from '../../providers/presets.ts'
import { Agent, type AgentOptions, listModels, tool } from '../../src/index.ts'
import { loopback, type Reply } from '../loopback.ts'
import { sampled } from './sample.ts'

// A planted key is sent to its provider, which gives it back wherever it can. Nothing that a person can see may hold it:
// errors with their causes, snapshots, emitted events, what inspectors see, the console.

const key = 'planted/KEY+7f3a9c1e5b2d=0'
const forms = [
  key,
  key.toLowerCase(),
  encodeURIComponent(key),
  encodeURIComponent(key).toLowerCase(),
  key.replaceAll('/', '\\/'),
  key.replaceAll('/', '&#x2F;').replaceAll('=', '&#61;'),
  // The digits that base64 makes of the key alone, behind seven other bytes.
  Buffer.from(`Bearer ${key}`).toString('base64').slice(10, -4),
  Buffer.from(key).toString('base64').replace(/=+$/, ''),
  Buffer.from(key).toString('base64url'),
]

/** What a server does with a key that it was given. */
const echoes: Record<string, Reply> = {
  'an error that quotes it': {
    status: 401,
    headers: { 'x-request-id': `req-${key}` },
    body: { error: { message: `Incorrect API key provided: ${key}`, code: key, type: key } },
  },
  'an error page': { status: 500, body: `<html><body>authorization: Bearer ${key}</body></html>` },
  'a redirect': { status: 307, headers: { location: `http://other.example/?key=${key}` }, body: '' },
  'an error in the stream': { body: `data: {"error":{"message":"bad key ${key}"}}\n\n` },
  'an event that is no JSON': { body: `data: {"oops": ${key}\n\n` },
  'a stream that is cut': { body: `data: {"id":"${key}"` },
  'a page': { headers: { 'content-type': 'text/html' }, body: `<html>${key}</html>` },
  'the word for the end of an answer': {
    body: `data: {"id":"${key}","choices":[{"delta":{"content":"Hi"},"finish_reason":"${key}"}]}\n\ndata: {"error":{"message":"${encodeURIComponent(key).toLowerCase()}"}}\n\n`,
  },
  'the name of an encoding': { headers: { 'content-encoding': key }, body: 'x' },
  'an error in HTML': {
    status: 500,
    body: `<p>${key.replaceAll('/', '&#x2F;').replaceAll('=', '&#61;')}</p>`,
  },
  'an error in the JSON of another language': {
    status: 400,
    body: `{"error":{"message":"${key.replaceAll('/', '\\/')} is ${key.replaceAll('/', '\\\\/')}"}}`,
  },
  'its whole header in base64': {
    status: 401,
    body: { error: { message: Buffer.from(`Bearer ${key}`).toString('base64') } },
  },
  'plain text': { headers: { 'content-type': 'text/plain' }, body: `token=${key} `.repeat(200) },
}

const printed: string[] = []
beforeEach(() => {
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => Boolean(printed.push(String(text))))
  }
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

const isSafe = (text: string): boolean => forms.every((form) => !text.includes(form))

const seen = (value: unknown): string =>
  `${inspect(value, { depth: 5, showHidden: true, maxStringLength: null, maxArrayLength: 200 })} ${json(value)}`

const json = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

/** Everything that can be seen of a run that uses these options. */
const everything = async (model: string, options: AgentOptions): Promise<string> => {
  const shown: string[] = []
  const agent = new Agent(model, {
    ...options,
    retry: { maxRetries: 1, initialDelayMs: 1 },
    inspect: (event) => {
      if ('event' in event) shown.push(seen(event.event))
      if ('snapshot' in event && 'context' in event.snapshot) shown.push(seen(event.snapshot.context))
    },
  })
  const actor = agent.actor({ prompt: 'hi' })
  actor.on('*', (event) => shown.push(seen(event)))
  await new Promise<void>((resolve) => {
    actor.subscribe({
      next: () => shown.push(seen(actor.getPersistedSnapshot())),
      error: () => resolve(),
      complete: () => resolve(),
    })
    actor.start()
  })
  const thrown = await agent.send('hi').catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(Error)
  for (let error = thrown; error instanceof Error; error = error.cause)
    shown.push(seen(error), String(error.stack))
  return [...shown, seen(agent), seen(agent.model), inspect(agent.machine, { depth: 3 }), ...printed].join(
    '\n',
  )
}

const ways: [string, (name: string, url: string) => AgentOptions][] = [
  ['as apiKey', (_, baseUrl) => ({ baseUrl, apiKey: key })],
  ['from a function', (_, baseUrl) => ({ baseUrl, apiKey: async () => key })],
  ['in a header', (_, baseUrl) => ({ baseUrl, headers: { 'x-api-key': key } })],
  ['in the query of baseUrl', (_, baseUrl) => ({ baseUrl: `${baseUrl}?token=${encodeURIComponent(key)}` })],
  [
    'as the password of baseUrl',
    (_, baseUrl) => ({ baseUrl: baseUrl.replace('//', `//user:${encodeURIComponent(key)}@`) }),
  ],
]

const cases = presets.flatMap(({ name }) =>
  Object.entries(echoes).map(([place, reply]) => ({ name, place, reply })),
)

test.each(sampled(cases, 0.35))('$name: a key given back in $place stays hidden', async ({ name, reply }) => {
  const { url, requests } = await loopback(() => reply)
  for (const [, options] of ways) expect(isSafe(await everything(`${name}:m`, options(name, url)))).toBe(true)
  expect(requests.length).toBeGreaterThan(0)
})

test('a key from the environment is hidden just so', async () => {
  vi.stubEnv('OPENAI_API_KEY', key)
  const { url, requests } = await loopback(() => echoes['an error that quotes it'] as Reply)
  // Only the provider's own host gets it: the request is led here from there.
  const options: AgentOptions = { connection: { fetch: (_, init) => fetch(url, init) } }
  expect(isSafe(await everything('openai', options))).toBe(true)
  expect(requests[0]?.headers.authorization).toBe(`Bearer ${key}`)
})

test('every key that a function gave is hidden, not only the last one', async () => {
  const given: string[] = []
  const { url } = await loopback(() => ({
    status: 401,
    body: { error: { message: `None of these is valid: ${given.join(' ')}` } },
  }))
  const apiKey = () => {
    given.push(`${key}-${given.length}`)
    return given.at(-1) ?? ''
  }
  expect(isSafe(await everything('openai', { baseUrl: url, apiKey }))).toBe(true)
  expect(given.length).toBeGreaterThan(3)
})

test('a key function that fails with an earlier key does not show it', async () => {
  let calls = 0
  const apiKey = async () => {
    calls += 1
    if (calls % 2 === 0) throw new Error(`${key} has expired`)
    return key
  }
  const { url } = await loopback(() => echoes['an error that quotes it'] as Reply)
  expect(isSafe(await everything('openai', { baseUrl: url, apiKey }))).toBe(true)
})

test('also embeddings and lists of models hide it', async () => {
  const { url } = await loopback(() => echoes['an error that quotes it'] as Reply)
  const agent = new Agent('openai', { baseUrl: url, apiKey: key })
  const errors = await Promise.all([
    agent.embedQuery('text').catch((error: unknown) => error),
    listModels('openai', { baseUrl: url, apiKey: key }).catch((error: unknown) => error),
  ])
  for (const error of errors) {
    expect(error).toBeInstanceOf(Error)
    expect(isSafe(seen(error))).toBe(true)
  }
})

test('a tool that throws with the key of its agent does not show it', async () => {
  const call = { index: 0, id: 'c', function: { name: 'leak', arguments: '{}' } }
  const events = [{ delta: { tool_calls: [call] } }, { delta: {}, finish_reason: 'tool_calls' }]
  const body = events
    .map((choice) => `data: ${JSON.stringify({ id: 'r', choices: [{ index: 0, ...choice }] })}\n\n`)
    .join('')
  const { url } = await loopback((_, nth) => ({
    body: nth === 0 ? body : `data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n`,
  }))
  const leak = tool({
    name: 'leak',
    description: 'Throws what it knows',
    execute: () => {
      throw new Error(`request failed: authorization: Bearer ${key}`)
    },
  })
  const result = await new Agent('openai:m', { baseUrl: url, apiKey: key, tools: [leak] }).send('hi')
  expect(isSafe(seen(result))).toBe(true)
})

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is not followed: no other host gets the key',
  async (status) => {
    const other = await loopback(() => ({ body: {} }))
    const { url, requests } = await loopback(() => ({
      status,
      headers: { location: `${other.url}/elsewhere` },
      body: '',
    }))
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: key, retry: { maxRetries: 0 } })
    await expect(agent.send('hi')).rejects.toThrow(/redirect/i)
    await expect(
      new Agent('openai:m', {
        baseUrl: url,
        apiKey: key,
        connection: { fetch },
        retry: { maxRetries: 0 },
      }).send('hi'),
    ).rejects.toThrow(/redirect/i)
    expect(requests).toHaveLength(2)
    expect(other.requests).toEqual([])
  },
)

test('an answer that ends well with the key as its name and its last word does not show it', async () => {
  const chunk = {
    id: `resp-${key}`,
    choices: [{ delta: { content: 'Hi' }, finish_reason: key.toUpperCase() }],
  }
  const { url } = await loopback(() => ({ body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` }))
  const result = await new Agent('openai:m', { baseUrl: url, apiKey: key }).send('hi')
  expect(result).toMatchObject({ output: 'Hi', id: 'resp-***', rawFinishReason: '***' })
  expect(result.finishReason).toBe('unspecified')
})
