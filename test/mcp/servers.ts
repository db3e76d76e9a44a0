import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
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
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export type WebServer = {
  url: string
  kill(): Promise<void>
  /** Begins the next process, so that `start` takes no time at all. */
  prepare(): Promise<void>
  start(): Promise<void>
}

const paths = { streamableHttp: '/mcp', sse: '/sse' } as const

type Backend = { child: ChildProcess; port: number }

const newBackend = async (wire: keyof typeof paths): Promise<Backend> => {
  const port = await freePort()
  const child = spawn(process.execPath, [programOf('server-everything'), wire], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  })
  await answering(port)
  return { child, port }
}

const ended = async ({ child }: Backend): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/**
 * The reference server as a process that can be killed and started again. A port in front of it, which is closed while it
 * is down, makes its return a matter of no time: a client waits seconds for it, and a process may take longer to start.
 */
export const everythingOnPort = async (wire: keyof typeof paths): Promise<WebServer> => {
  const port = await freePort()
  let next: Promise<Backend> | undefined
  let current: Backend | undefined
  const sockets = new Set<Socket>()
  const front = createServer((socket) => {
    const behind = connect(current?.port ?? 0, '127.0.0.1')
    for (const [each, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(each)
      each.pipe(other)
      each.on('error', () => {})
      each.on('close', () => {
        sockets.delete(each)
        other.destroy()
      })
    }
  })
  const prepare = async () => {
    next ??= newBackend(wire)
    await next
  }
  const start = async () => {
    await prepare()
    current = await next
    next = undefined
    front.listen(port, '127.0.0.1')
    await once(front, 'listening')
  }
  const kill = async () => {
    if (front.listening) front.close()
    if (current) await ended(current)
    for (const socket of sockets) socket.destroy()
    // A client in this process has read it then: a call in the very moment of the end would be in doubt.
    await setTimeout(100)
    for (let round = 0; round < 3; round += 1) await setImmediate()
  }
  onTestFinished(async () => {
    await kill()
    const prepared = await next
    if (prepared) await ended(prepared)
  })
  await start()
  return { url: `http://127.0.0.1:${port}${paths[wire]}`, kill, prepare, start }
}

const answering = async (port: number): Promise<void> => {
  const patience = AbortSignal.timeout(50_000)
  while (!patience.aborted) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (isUp) return
    await setTimeout(50)
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
