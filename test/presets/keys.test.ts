import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, ConfigurationError, listModels, listProviders } from '../../src/index.ts'
import { type Loopback, loopback, type Reply } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'

// Who gets a key: that of the environment only its provider's own hosts, and one from a function is always fresh.

beforeEach(() => {
  for (const { keyVariable } of listProviders()) if (keyVariable) vi.stubEnv(keyVariable, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const hello = (): Promise<Loopback> => loopback(() => ({ body: helloFrom('openai') }))

const detour =
  (url: string): typeof fetch =>
  (_, init) =>
    fetch(url, init)

describe('a key of the environment', () => {
  test.each(listProviders().filter(({ keyVariable }) => keyVariable))(
    '$keyVariable does not leave the hosts of $name',
    async ({ name, keyVariable = '' }) => {
      vi.stubEnv(keyVariable, 'from-environment')
      const { url, requests } = await loopback(({ method }) => ({
        body: method === 'GET' ? { data: [] } : helloFrom(name),
      }))
      const model = name === 'bedrock' ? 'claude-some-model' : 'some-model'
      await new Agent(`${name}:${model}`, { baseUrl: url }).send('hi')
      await listModels(name, { baseUrl: url }).catch((error: Error) =>
        expect(error.message).toContain('has no list of models'),
      )
      expect(requests.length).toBeGreaterThan(0)
      expect(JSON.stringify(requests)).not.toContain('from-environment')
    },
  )

  test.each(['https://api.openai.com/v1', 'https://eu.api.openai.com/v1', 'https://API.openai.com'])(
    'goes to %s',
    async (baseUrl) => {
      vi.stubEnv('OPENAI_API_KEY', 'from-environment')
      const { url, requests } = await hello()
      await new Agent('openai-chat', { baseUrl, connection: { fetch: detour(url) } }).send('hi')
      expect(requests[0]?.headers.authorization).toBe('Bearer from-environment')
    },
  )

  test.each([
    'http://api.openai.com/v1',
    'https://api.openai.com:8443/v1',
    'https://openai.com/v1',
    'https://evil-api.openai.com.example/v1',
    'https://api.openai.com.example/v1',
    'https://example.com/api.openai.com/v1',
    'https://user:pass@example.com/v1?host=api.openai.com',
    'https://api.openai.com@example.com/v1',
  ])('does not go to %s', async (baseUrl) => {
    vi.stubEnv('OPENAI_API_KEY', 'from-environment')
    const { url, requests } = await hello()
    await new Agent('openai', { baseUrl, connection: { fetch: detour(url) } }).send('hi')
    expect(JSON.stringify(requests[0]?.headers)).not.toContain('from-environment')
  })

  test('that was withheld is named where the server wants one', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'from-environment')
    const { url } = await loopback(() => ({ status: 401, body: { error: { message: 'No key' } } }))
    await expect(new Agent('openai:x', { baseUrl: url }).send('hi')).rejects.toThrow(
      /^No key \(openai:x at .*, HTTP 401\. No key was sent: pass apiKey\. OPENAI_API_KEY only goes to the hosts of openai\.\)$/,
    )
    vi.stubEnv('OPENAI_API_KEY', undefined)
    await expect(listModels('openai', { baseUrl: url })).rejects.toThrow(
      /^No key \(openai at .*, HTTP 401\. No key was sent: pass apiKey\.\)$/,
    )
  })

  test('is still missed where the base URL is the provider’s own', async () => {
    const agent = new Agent('openai', { baseUrl: 'https://api.openai.com/v1' })
    await expect(agent.send('hi')).rejects.toThrow(/OPENAI_API_KEY/)
  })
})

const words = { body: helloFrom('openai') }
const refused: Reply = { status: 401, body: { error: { message: 'Expired' } } }

/** Gives `key-1`, `key-2` and so on. */
const counting = () => {
  const given: string[] = []
  const apiKey = async () => {
    await Promise.resolve()
    given.push(`key-${given.length + 1}`)
    return given.at(-1) ?? ''
  }
  return { apiKey, given }
}

const sent = ({ requests }: Loopback): unknown[] => requests.map(({ headers }) => headers.authorization)

describe('a key from a function', () => {
  test('is asked for with every request', async () => {
    const server = await loopback(() => words)
    const { apiKey } = counting()
    const agent = new Agent('openai:x', { baseUrl: server.url, apiKey })
    await agent.send('hi')
    await agent.send('hi')
    expect(sent(server)).toEqual(['Bearer key-1', 'Bearer key-2'])
  })

  test('may come at once, and with a line break', async () => {
    const server = await loopback(() => words)
    await new Agent('openai:x', { baseUrl: server.url, apiKey: () => ' from-file\n' }).send('hi')
    expect(sent(server)).toEqual(['Bearer from-file'])
  })

  test('is asked for once more after a 401, and the run goes on as if nothing had been', async () => {
    const server = await loopback((_, nth) => (nth === 0 ? refused : words))
    const { apiKey } = counting()
    const agent = new Agent('openai:x', { baseUrl: server.url, apiKey, retry: { maxRetries: 0 } })
    const actor = agent.actor({ prompt: 'hi' })
    const seen: string[] = []
    actor.on('*', ({ type }) => seen.push(type))
    const over = new Promise((resolve) => actor.subscribe({ complete: () => resolve(undefined) }))
    actor.start()
    await over
    expect(actor.getSnapshot().output).toMatchObject({ status: 'complete', output: 'hello' })
    expect(sent(server)).toEqual(['Bearer key-1', 'Bearer key-2'])
    expect(seen).not.toContain('retry')
  })

  test('is not asked for a third time', async () => {
    const server = await loopback(() => refused)
    const { apiKey } = counting()
    const asking = new Agent('openai:x', { baseUrl: server.url, apiKey }).send('hi')
    await expect(asking).rejects.toMatchObject({ name: 'ModelError', status: 401 })
    expect(server.requests).toHaveLength(2)
  })

  test('serves embeddings and lists of models just so', async () => {
    const server = await loopback(({ method }, nth) =>
      nth % 2 === 0
        ? refused
        : { body: { data: method === 'GET' ? [{ id: 'a' }] : [{ index: 0, embedding: [1] }] } },
    )
    const { apiKey } = counting()
    const options = { baseUrl: server.url, apiKey }
    expect((await new Agent('openai', options).embedQuery('text')).embeddings).toEqual([1])
    expect(await listModels('openai', options)).toMatchObject([{ id: 'a' }])
    expect(sent(server)).toEqual(['Bearer key-1', 'Bearer key-2', 'Bearer key-3', 'Bearer key-4'])
  })

  test('that cannot be had is a typed error, tried again like any other', async () => {
    const server = await loopback(() => words)
    let calls = 0
    const apiKey = () => {
      calls += 1
      if (calls < 3) throw new Error('the token server is down')
      return 'third'
    }
    const retry = { maxRetries: 1, initialDelayMs: 1 }
    await expect(
      new Agent('openai:x', { baseUrl: server.url, apiKey, retry }).send('hi'),
    ).rejects.toMatchObject({
      name: 'ModelError',
      provider: 'openai',
      code: 'api_key_failed',
      message: 'The apiKey function failed: the token server is down',
    })
    expect((await new Agent('openai:x', { baseUrl: server.url, apiKey, retry }).send('hi')).output).toBe(
      'hello',
    )
    expect(server.requests).toHaveLength(1)
  })

  test.each([[''], [undefined], [7], [{}]])('that is %j is a mistake, and nothing is sent', async (key) => {
    const server = await loopback(() => words)
    const options = JSON.parse(JSON.stringify({ baseUrl: server.url }))
    options.apiKey = () => key
    await expect(new Agent('openai:x', options).send('hi')).rejects.toBeInstanceOf(ConfigurationError)
    await expect(new Agent('openai', options).embedQuery('hi')).rejects.toBeInstanceOf(ConfigurationError)
    expect(server.requests).toEqual([])
  })

  test('that never comes blocks nothing: the timeouts and the signal count from the call of the function', async () => {
    const server = await loopback(() => words)
    const apiKey = () => new Promise<string>(() => {})
    const timeouts = { firstChunkMs: 20 }
    const agent = new Agent('openai:x', { baseUrl: server.url, apiKey, timeouts, retry: { maxRetries: 0 } })
    await expect(agent.send('hi')).rejects.toMatchObject({ name: 'TimeoutError' })
    await expect(agent.embedQuery('hi')).rejects.toMatchObject({ name: 'TimeoutError' })
    const patient = new Agent('openai:x', { baseUrl: server.url, apiKey })
    for (const ask of [
      (signal: AbortSignal) => patient.send('hi', { signal }),
      (signal: AbortSignal) => patient.embedQuery('hi', { signal }),
    ]) {
      const controller = new AbortController()
      const asked = ask(controller.signal)
      controller.abort()
      await expect(asked).rejects.toMatchObject({ name: 'AbortedError' })
    }
    expect(server.requests).toEqual([])
  })

  test('that comes after an abort is not used', async () => {
    const server = await loopback(() => words)
    let give = (_: string): void => {}
    const apiKey = () =>
      new Promise<string>((resolve) => {
        give = resolve
      })
    const controller = new AbortController()
    const asked = new Agent('openai:x', { baseUrl: server.url, apiKey }).send('hi', {
      signal: controller.signal,
    })
    controller.abort()
    await expect(asked).rejects.toMatchObject({ name: 'AbortedError' })
    give('late')
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(server.requests).toEqual([])
  })
})

test('credentials of AWS are refused where they sign nothing', async () => {
  const apiKey = { accessKeyId: 'AKIA', secretAccessKey: 'secret' }
  await expect(new Agent('openai:x', { apiKey }).send('hi')).rejects.toThrow(/apiKey must be a string/)
})
