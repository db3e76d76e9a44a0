/** Tests that cannot cost money: mocks answer, and everything else is refused before a connection is made. */
import { existsSync } from 'node:fs'
import { Agent as Connections, getGlobalDispatcher, MockAgent, setGlobalDispatcher } from 'undici'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { blockRequests, cassette } from '../../src/testing/index.ts'
import { tapePath } from '../testing/tapePath.ts'
import { rawServer, untilClose } from './rawServer.ts'

const stream = (text: string) =>
  `data: {"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
const serving = () => rawServer(({ socket }) => socket.end(`${untilClose()}${stream('paid')}`))
const mocking = (origin: string) => {
  const mock = new MockAgent()
  mock.disableNetConnect()
  mock
    .get(origin)
    .intercept({ path: /.*/, method: 'POST' })
    .reply(200, stream('mocked'), { headers: { 'content-type': 'text/event-stream' } })
  return mock
}
const ask = async (baseUrl: string, connection: object = {}) => {
  const agent = new Agent('openai-compatible:m', {
    baseUrl,
    apiKey: 'k',
    connection,
    retry: { maxRetries: 2 },
  })
  return (await agent.send('hi')).output
}

const usual = getGlobalDispatcher()
beforeEach(() => vi.stubEnv('STATEWIRE_OFFLINE', undefined))
afterEach(() => {
  setGlobalDispatcher(usual)
  vi.unstubAllEnvs()
})

describe('the global dispatcher of undici', () => {
  test('answers if it is a mock, also while requests are blocked, and the server is not asked', async () => {
    const server = await serving()
    setGlobalDispatcher(mocking(server.url))
    expect(await ask(server.url)).toBe('mocked')
    setGlobalDispatcher(mocking(server.url))
    vi.stubEnv('STATEWIRE_OFFLINE', '1')
    expect(await ask(server.url)).toBe('mocked')
    expect(server.requests).toEqual([])
  })

  test('keeps a request that it does not expect from the network', async () => {
    const server = await serving()
    setGlobalDispatcher(mocking('http://elsewhere.example'))
    await expect(ask(server.url)).rejects.toThrow()
    expect(server.requests).toEqual([])
  })

  test('is used with its interceptors, and a dispatcher of the agent comes first', async () => {
    const server = await serving()
    const seen: unknown[] = []
    const watched = (origin: string) =>
      new Connections().compose((dispatch) => (options, handler) => {
        seen.push(origin)
        return dispatch(options, handler)
      })
    setGlobalDispatcher(watched('global'))
    expect(await ask(server.url)).toBe('paid')
    expect(await ask(server.url, { dispatcher: watched('own') })).toBe('paid')
    expect(seen).toEqual(['global', 'own'])
  })

  test('is not used if it is the plain agent that undici sets itself', async () => {
    const server = await serving()
    const plain = new Connections()
    const closed = plain.close()
    setGlobalDispatcher(plain)
    await closed
    expect(await ask(server.url)).toBe('paid')
  })
})

describe('blocked requests', () => {
  const carriers: Record<string, () => object> = {
    'the default transport': () => ({}),
    'a dispatcher': () => ({ dispatcher: new Connections() }),
    'the fetch of the runtime': () => ({ fetch: globalThis.fetch }),
  }
  test.each(Object.entries(carriers))('%s is refused once, without a connection', async (_, connection) => {
    const server = await serving()
    const unblock = blockRequests()
    await expect(ask(server.url, connection())).rejects.toThrow(ConfigurationError)
    await expect(ask(server.url, connection())).rejects.toThrow(/was refused.*scriptedModel/)
    expect(server.requests).toEqual([])
    unblock()
    expect(await ask(server.url, connection())).toBe('paid')
  })

  test('a cassette replays, and does not record', async () => {
    const server = await serving()
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    expect(await ask(server.url, { fetch: recording })).toBe('paid')
    await recording.done()
    vi.stubEnv('STATEWIRE_OFFLINE', '1')
    expect(await ask(server.url, { fetch: cassette(path) })).toBe('paid')
    const other = tapePath()
    await expect(ask(server.url, { fetch: cassette(other, { mode: 'record' }) })).rejects.toThrow(
      'was refused',
    )
    expect([server.requests.length, existsSync(other)]).toEqual([1, false])
  })

  test('allowed servers are asked, others are not', async () => {
    const [simulator, provider] = [await serving(), await serving()]
    const unblock = blockRequests({ allow: [`${simulator.url}/v1`] })
    expect(await ask(simulator.url)).toBe('paid')
    await expect(ask(provider.url)).rejects.toThrow('was refused')
    unblock()
    expect(process.env.STATEWIRE_OFFLINE).toBe(undefined)
  })

  test.each(['0', 'false', ''])('STATEWIRE_OFFLINE=%s blocks nothing', async (value) => {
    vi.stubEnv('STATEWIRE_OFFLINE', value)
    expect(await ask((await serving()).url)).toBe('paid')
  })

  test('wrong options are refused', () => {
    for (const allow of ['http://x', ['x y'], [7]])
      expect(() => blockRequests({ allow } as { allow: string[] })).toThrow('allow')
  })
})

test('on Bun, the fetch of the runtime carries the request', async () => {
  vi.resetModules()
  const server = await serving()
  const { versions } = process
  vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...versions, bun: '1.3.0' } as typeof versions)
  const fetch = vi.spyOn(globalThis, 'fetch')
  const { Agent: Fresh } = await import('../../src/index.ts')
  const { output } = await new Fresh('openai-compatible:m', { baseUrl: server.url, apiKey: 'k' }).send('hi')
  expect([output, fetch.mock.calls.length]).toEqual(['paid', 1])
  vi.restoreAllMocks()
})
