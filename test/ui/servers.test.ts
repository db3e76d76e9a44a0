/** The servers that people use: chats work behind each, and a client that leaves ends its run. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve as serveHono } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { type Handler, nodeListener } from '../../src/ui/nodeListener.ts'
import { uiMessageHandler } from '../../src/ui/uiMessages/handler.ts'
import { callIn, clientFor, lastTexts, settled } from './chatClients.ts'
import { endlessProvider } from './endlessProvider.ts'
import { serve, until } from './serve.ts'

const at = async (server: Server): Promise<string> => {
  if (!server.listening) await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`
}

const servers: Record<string, (handler: Handler) => Promise<string>> = {
  'node:http': async (handler) => `${await serve(handler)}/api/chat`,
  Express: (handler) => {
    const app = express()
    app.all(['/api/chat', '/api/chat/{*path}'], nodeListener(handler))
    return at(app.listen(0, '127.0.0.1'))
  },
  'Express, mounted behind a parser of JSON': (handler) => {
    const app = express()
    app.use(express.json({ limit: '4mb' }))
    app.use('/api/chat', nodeListener(handler))
    return at(app.listen(0, '127.0.0.1'))
  },
  Fastify: async (handler) => {
    const app = Fastify({ bodyLimit: 4 * 1024 * 1024 })
    const listener = nodeListener(handler)
    for (const path of ['/api/chat', '/api/chat/*'])
      app.all(path, (request, reply) => {
        reply.hijack()
        listener(Object.assign(request.raw, { body: request.body }), reply.raw)
      })
    await app.listen({ port: 0, host: '127.0.0.1' })
    onTestFinished(async () => {
      app.server.closeAllConnections()
      await app.close()
    })
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/chat`
  },
  Hono: (handler) => {
    const app = new Hono()
    app.all('/api/chat/*', (c) => handler(c.req.raw))
    return at(serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
  },
}

test('a handler sees the whole address, wherever it is mounted', async () => {
  const app = express()
  app.use(
    '/api/chat',
    nodeListener((request) => new Response(request.url)),
  )
  const api = await at(app.listen(0, '127.0.0.1'))
  expect(await (await fetch(`${api}/a%20b/stream?x=1`)).text()).toBe(`${api}/a%20b/stream?x=1`)
})

describe.each(Object.entries(servers))('%s', (_, start) => {
  test('serves a chat with an approval, and says that nothing can be resumed', async () => {
    const send = tool({ name: 'send', description: 'Sends', needsApproval: true, execute: () => 'sent' })
    const model = scriptedModel([[{ toolCall: { id: 'c1', name: 'send' } }], 'Grüße, 日本!'])
    const api = await start(uiMessageHandler(new Agent(model, { tools: [send] })))
    const client = clientFor(7, { api, id: 'chat-1' })
    await client.send('Send “this” – 日本')
    expect(client.error).toBeUndefined()
    await client.decide('send', 'c1', true)
    await settled(client)
    expect(callIn(client, 'c1')).toMatchObject({ state: 'output-available', output: 'sent' })
    expect(lastTexts(client)).toEqual(['Grüße, 日本!'])
    expect(model.requests[0]?.messages[0]?.parts).toEqual([{ type: 'text', text: 'Send “this” – 日本' }])
    expect((await fetch(`${api}/chat-1/stream`)).status).toBe(204)
  })

  test('ends the run of a client that leaves', async () => {
    const provider = await endlessProvider()
    // The connection shows that the client left, not the next keep-alive.
    const api = await start(uiMessageHandler(provider.agent, { keepAliveMs: 3_600_000 }))
    const client = clientFor(7, { api, id: 'chat-1' })
    const sent = client.send('Tell me everything')
    await until(() => lastTexts(client).join('') === 'Well')
    await client.stop()
    await sent
    await until(() => provider.closedAt.length === 1)
  })
})
