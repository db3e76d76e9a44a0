import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connectMcp, type McpConnection, type McpConnectOptions } from '../../src/mcp/index.ts'

const { resolve } = createRequire(import.meta.url)

const programOf = (name: string) =>
  join(dirname(resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js')

/** The reference server, as a command. */
export const everything = { command: process.execPath, args: [programOf('server-everything'), 'stdio'] }

/** The reference server for files below a folder. */
export const filesystem = (folder: string) => ({
  command: process.execPath,
  args: [programOf('server-filesystem'), folder],
})

/** A server of our own, in this folder. */
export const ownServer = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, file), ...args],
})

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || !address) throw new Error('There is no free port.')
  return address.port
}

export type WebServer = { url: string; kill(): Promise<void>; start(): Promise<void> }

const paths = { streamableHttp: '/mcp', sse: '/sse' } as const

/** The reference server on a port of its own, as a process that can be killed and started again. */
export const everythingOnPort = async (wire: keyof typeof paths): Promise<WebServer> => {
  const port = await freePort()
  let child: ChildProcess | undefined
  let isOver = false
  const start = async () => {
    // A test that failed may still be about to start it.
    if (isOver) return
    child = spawn(process.execPath, [programOf('server-everything'), wire], {
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
    })
    await answering(port)
  }
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(async () => {
    isOver = true
    await kill()
  })
  await start()
  return { url: `http://127.0.0.1:${port}${paths[wire]}`, kill, start }
}

const answering = async (port: number): Promise<void> => {
  for (let tries = 0; tries < 200; tries += 1) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (isUp) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`Nobody answers on port ${port}.`)
}

/** Closed when the test is over. */
export const connected = async (options: McpConnectOptions): Promise<McpConnection> => {
  const connection = await connectMcp(options)
  onTestFinished(() => connection.close())
  return connection
}

/** A server over each of the three transports. */
export const wires = {
  stdio: async () => everything,
  http: async () => ({ url: (await everythingOnPort('streamableHttp')).url }),
  sse: async () => ({ url: (await everythingOnPort('sse')).url }),
} satisfies Record<string, () => Promise<McpConnectOptions>>
