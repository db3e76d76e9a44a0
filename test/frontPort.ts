import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'

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
