import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type FrontPort = { port: number; close(): void }

/**
 * Opens a port of this process that leads to a server elsewhere: one that listens on a path, or one that comes back on another
 * port. The port stays taken in the meantime, so no other program can ever answer there. Without a target, connections are closed.
 */
export const openFrontPort = async (target: () => NetConnectOpts | undefined): Promise<FrontPort> => {
  const sockets = new Set<Socket>()
  const front = createServer((socket) => {
    const options = target()
    if (!options) return socket.destroy()
    const behind = connect(options)
    join(socket, behind)
    join(behind, socket)
  }).listen(0, '127.0.0.1')
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.pipe(to)
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  await once(front, 'listening')
  const { port } = front.address() as AddressInfo
  return {
    port,
    close: () => {
      front.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/**
 * A port that refuses connections for the length of a test. A connection of this process starts from it, so no other program
 * can listen there: a port that was only free a moment ago may belong to another test's server by now.
 */
export const deadPort = async (): Promise<number> => {
  const anchor = createServer().listen(0, '127.0.0.1')
  await once(anchor, 'listening')
  const { port } = anchor.address() as AddressInfo
  const holder = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' })
  await once(holder, 'connect')
  onTestFinished(() => {
    holder.destroy()
    anchor.close()
  })
  return holder.localPort ?? 0
}

/** A port to listen on that refuses connections again once its server is closed. Only Linux lets a server listen on a dead port. */
export const portThatDies = (): Promise<number> =>
  process.platform === 'linux' ? deadPort() : Promise.resolve(0)
