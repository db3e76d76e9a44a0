import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startInspector } from '../../src/inspector/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { portThatDies } from '../ports.ts'
import { command, inspecting, listen } from './watching.ts'

/** A request whose path and headers go out exactly as they are here. */
const ask = async (
  url: string,
  path: string,
  {
    headers = {},
    method = 'GET',
    body = '',
  }: { headers?: Record<string, string>; method?: string; body?: string } = {},
) => {
  const { hostname, port } = new URL(url)
  const asked = request({ hostname, port, path, method, headers, setHost: headers.host === undefined })
  asked.end(body)
  const [response] = await once(asked, 'response')
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece)
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(pieces).toString() }
}

const pathOf = (url: string, file: string) => new URL(file, url).pathname

describe('The address', () => {
  it('opens the page, which loads nothing from elsewhere and does not pass its address on', async () => {
    const { url } = await inspecting()
    const { status, headers, text } = await ask(url, pathOf(url, ''))
    expect(status).toBe(200)
    expect(text).toContain('statewire')
    expect(text).not.toMatch(/https?:\/\//)
    expect(headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
    expect(headers['content-security-policy']).not.toContain('unsafe')
  })

  it('has another token each time, and is on the loopback interface alone', async () => {
    const [a, b] = [await inspecting(), await inspecting()]
    const tokenOf = ({ url }: { url: string }) => new URL(url).pathname.split('/')[1] ?? ''
    expect(tokenOf(a)).toMatch(/^[-\w]{32}$/)
    expect(tokenOf(a)).not.toBe(tokenOf(b))
    expect(new URL(a.url).hostname).toBe('127.0.0.1')
  })

  it.each(['/', '/events', '/wrong/', '/wrong/events', `/${'a'.repeat(32)}/app.js`, '//', '/%00/'])(
    'refuses %s, which lacks the token',
    async (path) => {
      const { url } = await inspecting()
      expect((await ask(url, path)).status).toBe(403)
    },
  )

  it.each([
    '../../package.json',
    '..%2f..%2fpackage.json',
    '%2e%2e/%2e%2e/package.json',
    '..\\..\\package.json',
    'page/../../index.ts',
    '/etc/passwd',
    'app.js%00.html',
    'nothing.js',
    'app.ts',
    '__proto__',
  ])('has nothing at %s', async (file) => {
    const { url } = await inspecting()
    const { status, text } = await ask(url, `${pathOf(url, '')}${file}`)
    expect([403, 404]).toContain(status)
    expect(text.length).toBeLessThan(80)
  })

  it.each(['evil.example', 'evil.example:80', '127.0.0.1', '127.0.0.1:1', '[::1]:80', ''])(
    'refuses the host name %o: a foreign domain may be pointed here',
    async (host) => {
      const { url } = await inspecting()
      expect((await ask(url, pathOf(url, ''), { headers: { host } })).status).toBe(403)
    },
  )

  it('is also localhost', async () => {
    const { url } = await inspecting()
    const host = `localhost:${new URL(url).port}`
    expect((await ask(url, pathOf(url, ''), { headers: { host } })).status).toBe(200)
  })

  it.each([
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('gives a page with %o nothing', async (headers) => {
    const { url } = await inspecting()
    for (const file of [
      'events',
      'app.js',
      'moment?actor=1&seq=1',
      'chart?actor=1',
      'run?actor=1',
      'elk.js',
    ]) {
      expect((await ask(url, `${pathOf(url, '')}${file}`, { headers })).status, file).toBe(403)
    }
  })
})

describe('A command', () => {
  it('must be posted', async () => {
    const { url } = await inspecting()
    expect((await ask(url, pathOf(url, 'command'))).status).toBe(405)
    expect((await ask(url, pathOf(url, 'events'), { method: 'POST' })).status).toBe(405)
    expect((await ask(url, pathOf(url, 'app.js'), { method: 'DELETE' })).status).toBe(405)
  })

  it('must come from the page of the inspector', async () => {
    const inspector = await inspecting()
    const foreign = await command(inspector, { actor: 1, type: 'abort' }, { origin: 'http://evil.example' })
    expect(foreign.status).toBe(403)
    const { url } = inspector
    const headers = { 'content-type': 'application/json' }
    const nowhere = await ask(url, pathOf(url, 'command'), { method: 'POST', headers, body: '{}' })
    expect(nowhere.status).toBe(403)
  })

  it('must be JSON, which a form of a foreign page cannot send', async () => {
    const inspector = await inspecting()
    const form = await command(inspector, {}, { 'content-type': 'text/plain' })
    expect(form.status).toBe(415)
  })

  it.each([
    ['[]', 400],
    ['{', 400],
    ['"abort"', 400],
    ['{"actor":1,"type":"abort"}', 404],
    ['{"actor":"__proto__","type":"abort"}', 404],
    [`{"type":"${'x'.repeat(300_000)}"}`, 413],
  ])('refuses %.40s', async (body, status) => {
    const { url } = await inspecting()
    const headers = { 'content-type': 'application/json', origin: new URL(url).origin }
    expect((await ask(url, pathOf(url, 'command'), { method: 'POST', headers, body })).status).toBe(status)
  })
})

describe('The inspector', () => {
  it('ends its streams and frees its port when it is closed, more than once', async () => {
    const inspector = await startInspector({ port: await portThatDies() })
    const { port } = new URL(inspector.url)
    const response = await fetch(`${inspector.url}events`)
    await inspector.close()
    await inspector.close()
    await expect(response.text().catch(() => 'broken off')).resolves.toBeDefined()
    const socket = connect(Number(port), '127.0.0.1')
    const [error] = await once(socket, 'error')
    expect(error.code).toBe('ECONNREFUSED')
  })

  it('takes the port it is given, and says when that is not free', async () => {
    const { url } = await inspecting()
    const port = Number(new URL(url).port)
    await expect(startInspector({ port })).rejects.toThrow(ConfigurationError)
    await expect(startInspector({ port })).rejects.toThrow(`port ${port}`)
  })

  it('sends an empty list to a page that opens before the first run', async () => {
    const feed = await listen(await inspecting())
    await feed.until(({ messages }) => messages.length === 1)
    expect(feed.messages[0]).toEqual({ isFirst: true, limits: { moments: 2000, runs: 50 }, droppedRuns: 0 })
  })
})
