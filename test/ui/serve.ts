import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Handler, nodeListener } from '../../src/ui/nodeListener.ts'

/** Serves a listener for one test, on this machine. */
export const listen = async (listener: RequestListener): Promise<{ url: string; server: Server }> => {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, server }
}

/** Serves a handler for one test. */
export const serve = async (handler: Handler): Promise<string> => (await listen(nodeListener(handler))).url

/** Waits until something is so, or fails. Long enough for a machine that is busy. */
export const until = async (holds: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> => {
  const end = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`It did not happen within ${timeoutMs} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
