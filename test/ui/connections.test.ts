/** Clients leave, do not read, or send too much: nothing is left running, and nothing is kept for them. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { nodeListener } from '../../src/ui/nodeListener.ts'
import { type UiMessageHandlerOptions, uiMessageHandler } from '../../src/ui/uiMessages/handler.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { endlessProvider } from './endlessProvider.ts'
import { listen, serve, until } from './serve.ts'

const headers = { 'content-type': 'application/json' }
const question = (id = 'chat-1') =>
  JSON.stringify({ id, messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] })
/** A client that left is noticed by its connection, not by the next keep-alive. */
const noKeepAlive = { keepAliveMs: 3_600_000 }
const ask = (url: string, init: RequestInit = {}) =>
  fetch(url, { method: 'POST', headers, body: question(), ...init })

describe('a client that leaves', () => {
  test('closes the connection to the provider', async () => {
    const provider = await endlessProvider()
    const url = await serve(uiMessageHandler(provider.agent, noKeepAlive))
    const leave = new AbortController()
    const response = await ask(url, { signal: leave.signal })
    await response.body?.getReader().read()
    await until(() => provider.opened === 1)
    leave.abort()
    await until(() => provider.closedAt.length === 1)
  })

  test('is noticed by the cancelled body alone, and by the aborted request alone', async () => {
    const provider = await endlessProvider()
    const handler = uiMessageHandler(provider.agent, noKeepAlive)
    const leave = new AbortController()
    const init = { method: 'POST', headers, body: question() }
    const [first, second] = await Promise.all([
      handler(new Request('http://localhost/', init)),
      handler(new Request('http://localhost/', { ...init, signal: leave.signal })),
    ])
    await until(() => provider.opened === 2)
    await first.body?.cancel()
    await until(() => provider.closedAt.length === 1)
    leave.abort()
    await until(() => provider.closedAt.length === 2)
    expect(await second.text()).not.toContain('[DONE]')
  })

  test('before the answer begins starts nothing that stays', async () => {
    const provider = await endlessProvider()
    const signal = AbortSignal.abort()
    await uiMessageHandler(provider.agent)(
      new Request('http://localhost/', { method: 'POST', headers, body: question(), signal }),
    )
    await pause(100)
    await until(() => provider.opened === provider.closedAt.length)
  })

  test('of a stored chat does not end the run, and DELETE does', async () => {
    const provider = await endlessProvider()
    const runs = await opened(storeFile(), { assistant: provider.agent })
    const url = await serve(uiMessageHandler(runs))
    const leave = new AbortController()
    const response = await ask(url, { signal: leave.signal })
    await response.body?.getReader().read()
    await until(() => provider.opened === 1)
    leave.abort()
    await pause(200)
    expect(provider.closedAt).toEqual([])
    expect((await runs.list())[0]?.status).toBe('running')
    expect((await fetch(`${url}/chat-1/stream`, { method: 'DELETE' })).status).toBe(204)
    expect((await runs.list())[0]?.status).toBe('aborted')
    await until(() => provider.closedAt.length === 1)
    expect((await fetch(`${url}/chat-1/stream`, { method: 'DELETE' })).status).toBe(204)
  })
})

describe('a client that does not read', () => {
  const text = 'All work and no play. '.repeat(200)

  test('is cut off at the limit, and its run ends: 200 of them', async () => {
    const provider = await endlessProvider({ text, everyMs: 5 })
    const handler = uiMessageHandler(provider.agent, { maxUnreadBytes: 32 * 1024 })
    const init = { method: 'POST', headers, body: question() }
    const responses = await Promise.all(
      Array.from({ length: 200 }, () => handler(new Request('http://localhost/', init))),
    )
    await until(() => provider.closedAt.length === 200)
    expect(provider.opened).toBe(200)
    const end = await responses[0]?.text().catch(String)
    expect(end).toContain('the reader was too slow')
  })

  test('over a connection is cut off, too', async () => {
    const provider = await endlessProvider({ text: text.repeat(10), everyMs: 1 })
    const url = new URL(await serve(uiMessageHandler(provider.agent, { maxUnreadBytes: 64 * 1024 })))
    const socket = connect(Number(url.port), url.hostname)
    await once(socket, 'connect')
    const body = question()
    socket.write(
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    socket.pause()
    await until(() => provider.closedAt.length === 1)
    socket.destroy()
  })

  test('does not disturb one that does', async () => {
    const model = scriptedModel([Array.from({ length: 500 }, () => ({ text }))])
    const url = await serve(uiMessageHandler(new Agent(model), { maxUnreadBytes: 64 * 1024 * 1024 }))
    const stream = await (await ask(url)).text()
    expect(stream.match(/text-delta/g)).toHaveLength(500)
    expect(stream).toMatch(/\[DONE\]\n\n$/)
  })

  test('waits for nothing when the chat is stored: a long answer is read at leisure', async () => {
    const model = scriptedModel([Array.from({ length: 500 }, () => ({ text }))])
    const runs = await opened(storeFile(), { assistant: new Agent(model) })
    const handler = uiMessageHandler(runs, { maxUnreadBytes: 128 * 1024 })
    const response = await handler(
      new Request('http://localhost/', { method: 'POST', headers, body: question() }),
    )
    await until(async () => (await runs.list())[0]?.status === 'complete')
    expect((await response.text()).match(/text-delta/g)).toHaveLength(500)
  })
})

test('a reader of a stored answer that reads nothing for a minute is cut off', async () => {
  const model = scriptedModel([Array.from({ length: 500 }, () => ({ text: 'x'.repeat(1000) }))])
  const runs = await opened(storeFile(), { assistant: new Agent(model) })
  const init = { method: 'POST', headers, body: question() }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { body } = await uiMessageHandler(runs)(new Request('http://localhost/', init))
    while ((await runs.list())[0]?.status !== 'complete') await pause(5)
    await pause(50)
    const reader = body?.getReader()
    vi.advanceTimersByTime(59_000)
    await reader?.read()
    await pause(5)
    vi.advanceTimersByTime(59_000)
    await reader?.read()
    await pause(5)
    vi.advanceTimersByTime(61_000)
    await expect(reader?.read()).rejects.toThrow('too slow')
  } finally {
    vi.useRealTimers()
  }
})

describe('an idle stream', () => {
  test('begins immediately, and gets keep-alives', async () => {
    const provider = await endlessProvider()
    const url = await serve(uiMessageHandler(provider.agent, { keepAliveMs: 20 }))
    const leave = new AbortController()
    const { body, headers: sent } = await ask(url, { signal: leave.signal })
    expect(sent.get('content-type')).toBe('text/event-stream')
    let seen = ''
    const decoder = new TextDecoder()
    for await (const bytes of body ?? []) {
      seen += decoder.decode(bytes)
      if (seen.split(': keep-alive\n\n').length > 3) break
    }
    expect(seen.startsWith(': open\n\n')).toBe(true)
    leave.abort()
  })
})

test('keep-alives do not pile up for a client that does not read', async () => {
  const agent = new Agent(scriptedModel([[{ text: 'Well' }, { hang: true }]]))
  const handler = uiMessageHandler(agent, { keepAliveMs: 2 })
  const init = { method: 'POST', headers, body: question() }
  const reader = (await handler(new Request('http://localhost/', init))).body?.getReader()
  await pause(100)
  const first = await Promise.all([1, 2, 3, 4].map(() => reader?.read()))
  await reader?.cancel()
  expect(first.map((read) => new TextDecoder().decode(read?.value)).join('')).not.toContain('keep-alive')
})

describe('a request', () => {
  const handlerWith = (options: UiMessageHandlerOptions = {}) =>
    uiMessageHandler(new Agent(scriptedModel(['Hello.'])), options)

  test('that is too large is refused, whether it says so or not, and the server stays well', async () => {
    const url = await serve(handlerWith({ maxBodyBytes: 1000 }))
    expect((await ask(url, { body: JSON.stringify({ a: 'x'.repeat(1000) }) })).status).toBe(413)

    const { port } = new URL(url)
    const endless = request({ port, method: 'POST', headers: { ...headers, 'transfer-encoding': 'chunked' } })
    endless.on('error', () => {})
    const [response] = await Promise.all([
      once(endless, 'response').then(([each]) => each),
      (async () => {
        for (let sent = 0; sent < 20 && !endless.destroyed; sent += 1) {
          endless.write('x'.repeat(500))
          await pause(5)
        }
      })(),
    ])
    expect(response.statusCode).toBe(413)
    response.resume()
    await until(() => endless.destroyed)
    expect((await ask(url)).status).toBe(200)
  })

  test.each<[string, RequestInit, number]>([
    ['not JSON', { body: 'hello' }, 400],
    ['not an object', { body: '[]' }, 400],
    ['nested too deeply', { body: '['.repeat(10_000) + ']'.repeat(10_000) }, 400],
    ['not UTF-8', { body: new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]) }, 400],
    ['a form', { body: question(), headers: { 'content-type': 'text/plain' } }, 415],
    ['without messages', { body: '{"id":"chat-1"}' }, 400],
    ['with an empty prompt', { body: '{"id":"chat-1","messages":[{"role":"user","parts":[]}]}' }, 400],
    ['of another method', { method: 'PUT' }, 405],
    ['for nothing', { method: 'GET', body: null }, 404],
    ['for the messages of a chat that is not stored', { method: 'DELETE', body: null }, 404],
  ])('that is %s is refused', async (_, init, status) => {
    const url = await serve(handlerWith())
    const response = await ask(url, init)
    expect(response.status).toBe(status)
    expect(await response.text()).not.toBe('')
  })

  test('whose handler breaks gets a 500 that says nothing', async () => {
    const authorize = () => {
      throw new Error('the key sk-12345 is wrong')
    }
    const response = await ask(await serve(handlerWith({ authorize })))
    expect([response.status, await response.text()]).toEqual([500, 'Something went wrong.'])
    const { url } = await listen(
      nodeListener(() => {
        throw new Error('the key sk-12345 is wrong')
      }),
    )
    const bare = await ask(url)
    expect([bare.status, await bare.text()]).toEqual([500, ''])
  })
})
