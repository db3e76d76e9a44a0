/** Mocks of other packages: what docs/testing.md says about each of them. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MockAgent } from 'undici'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { blockRequests } from '../../src/testing/index.ts'
import { fromRegistry } from '../fromRegistry.ts'

const host = 'https://mocked.example'
const answer = (text: string) =>
  `data: {"choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`
const headers = { 'content-type': 'text/event-stream' }
const throughFetch = { fetch: (...request: Parameters<typeof fetch>) => globalThis.fetch(...request) }
const ask = async (connection: object = {}) => {
  const agent = new Agent('openai-compatible:m', { baseUrl: `${host}/v1`, apiKey: 'k', connection })
  return (await agent.send('hi')).output
}

afterEach(() => vi.restoreAllMocks())

/** Checks that a mock answers, by itself and through `connection.fetch`; where requests are blocked, only what is named answers. */
const answers = async () => {
  expect(await ask()).toBe('mocked')
  expect(await ask(throughFetch)).toBe('mocked')
  const unblock = blockRequests()
  onTestFinished(unblock)
  await expect(ask()).rejects.toThrow('was refused')
}

test('a spied fetch answers', async () => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(answer('mocked'), { headers }))
  await answers()
})

test('a fetch that node:test mocks answers', async () => {
  const { mock } = await import('node:test')
  mock.method(globalThis, 'fetch', async () => new Response(answer('mocked'), { headers }))
  onTestFinished(() => mock.restoreAll())
  await answers()
})

test('a dispatcher that is given answers before a spied fetch', async () => {
  const spy = vi.spyOn(globalThis, 'fetch')
  const dispatcher = new MockAgent()
  dispatcher.disableNetConnect()
  const path = '/v1/chat/completions'
  dispatcher.get(host).intercept({ path, method: 'POST' }).reply(200, answer('given'), { headers })
  expect(await ask({ dispatcher })).toBe('given')
  expect(spy).not.toHaveBeenCalled()
})

describe('from the registry', () => {
  type Nock = {
    (origin: string): { post(path: string): { reply(...all: unknown[]): void } }
    cleanAll(): void
    restore(): void
  }

  test('nock answers', async ({ skip }) => {
    const found = await fromRegistry('nock', '14.0.17')
    if ('problem' in found) return skip(found.problem)
    const nock: Nock = createRequire(join(found.folder, 'package.json'))('nock')
    onTestFinished(() => {
      nock.cleanAll()
      nock.restore()
    })
    for (let times = 0; times < 2; times += 1)
      nock(host).post('/v1/chat/completions').reply(200, answer('mocked'), headers)
    await answers()
  })

  type Msw = { http: { post(url: string, answer: () => Response): unknown } }
  type MswNode = { setupServer(...handlers: unknown[]): { listen(): void; close(): void } }

  test('msw answers', async ({ skip }) => {
    const found = await fromRegistry('msw', '2.15.0')
    if ('problem' in found) return skip(found.problem)
    const load = async (path: string) => import(pathToFileURL(join(found.folder, path)).href)
    const { http }: Msw = await load('lib/core/index.mjs')
    const { setupServer }: MswNode = await load('lib/node/index.mjs')
    const server = setupServer(
      http.post(`${host}/v1/chat/completions`, () => new Response(answer('mocked'), { headers })),
    )
    server.listen()
    onTestFinished(() => server.close())
    await answers()
  })
})
