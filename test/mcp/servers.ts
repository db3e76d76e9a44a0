import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Agent as Dispatcher } from 'undici'
import { onTestFinished } from 'vitest'
import { connectMcp, type McpConnection, type McpConnectOptions } from '../../src/mcp/index.ts'
import { openFrontPort } from '../ports.ts'

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

/** A server that is a file of this folder. */
export const ownServer = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(import.meta.dirname, file), ...args],
})

/** The reference server as a process on the web. */
export type WebServer = {
  /** The address, on a port of this process. */
  url: string
  /** Reaches it by its path: while it is down, connections are refused as on a port without a server. */
  fetch: typeof fetch
  kill(): Promise<void>
  /** Begins the next process, so that `start` takes no time: a client waits seconds for a server, a process may take longer. */
  prepare(): Promise<void>
  start(): Promise<void>
}

const paths = { streamableHttp: '/mcp', sse: '/sse' } as const

type Backend = { child: ChildProcess; socketPath: string; dispatcher: Dispatcher }

/** Starts the reference server on a path in a new folder, where no other program can be. */
const newBackend = async (wire: keyof typeof paths): Promise<Backend> => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const socketPath = join(folder, 'socket')
  const child = spawn(process.execPath, [programOf('server-everything'), wire], {
    env: { ...process.env, PORT: socketPath },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => ended(child))
  let printed = ''
  for await (const text of child.stderr.iterator({ destroyOnReturn: false })) {
    printed += text
    if (printed.includes(socketPath)) break
  }
  child.stderr.resume()
  if (child.exitCode !== null) throw new Error(`The server did not start: ${printed}`)
  return { child, socketPath, dispatcher: new Dispatcher({ connect: { socketPath } }) }
}

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** The reference server as a process that can be killed and started again, at the same address. */
export const everythingOnPort = async (wire: keyof typeof paths): Promise<WebServer> => {
  let current = await newBackend(wire)
  let next: Promise<Backend> | undefined
  const front = await openFrontPort(() => ({ path: current.socketPath }))
  onTestFinished(() => front.close())
  const prepare = async () => {
    next ??= newBackend(wire)
    await next
  }
  return {
    url: `http://127.0.0.1:${front.port}${paths[wire]}`,
    fetch: (url, init) => fetch(url, Object.assign({ ...init }, { dispatcher: current.dispatcher })),
    prepare,
    start: async () => {
      await prepare()
      current = (await next) ?? current
      next = undefined
    },
    kill: async () => {
      await ended(current.child)
      // A connection that is still in the pool would make the next call doubtful: it gets a new one, which is refused.
      const { socketPath, dispatcher } = current
      current = { ...current, dispatcher: new Dispatcher({ connect: { socketPath } }) }
      // Closed once the client has seen the end of its streams: a call before that would be doubtful, too.
      await dispatcher.close()
    },
  }
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
