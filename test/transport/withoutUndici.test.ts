import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'

// What bundlers for browsers put in its place.
vi.mock('undici', () => ({ default: {} }))

test('the runtime’s own fetch carries the request where there is no undici', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n')
    response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const fetch = vi.spyOn(globalThis, 'fetch')
  const { output } = await new Agent('openai:x', { baseUrl: `http://127.0.0.1:${port}` }).send('hi')
  expect(output).toBe('hello')
  expect(fetch).toHaveBeenCalledOnce()
  server.closeAllConnections()
  server.close()
})
