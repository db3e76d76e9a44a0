import { describe, expect, it } from 'vitest'
import { deadPort } from '../ports.ts'
import { echoModel, listen, received } from './echoModel.ts'
import { chunk, chunkedHead, lastChunk, pause, rawServer } from './rawServer.ts'

/** The handles that keep the process alive, by kind. */
const resources = (): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Compares only what a request could leave behind; the test runner has timers of its own. */
const sockets = (): number => resources().TCPSocketWrap ?? 0
const timers = (): number => resources().Timeout ?? 0

const settled = async (isSettled: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 4000 && !isSettled(); tries++) await pause(5)
}

describe('nothing is left behind', () => {
  it('by fifty requests aborted at every stage', async () => {
    const server = await rawServer(({ socket, connection }) => {
      if (connection % 2 === 0) socket.write(chunkedHead() + chunk('data: a\n\n'))
    })
    const model = echoModel({ baseUrl: server.url })
    const before = { sockets: sockets(), timers: timers() }
    for (let round = 0; round < 50; round++) {
      const seen = server.requests.length
      const listening = listen(model)
      if (round % 3 === 1) await pause(1)
      if (round % 3 === 2) while (server.requests.length === seen) await pause(1)
      listening.close()
      expect(listening.received.outcomes).toEqual([])
    }
    await settled(() => server.sockets.every((socket) => socket.destroyed) && sockets() <= before.sockets)
    expect(server.sockets.filter((socket) => !socket.destroyed)).toEqual([])
    expect(sockets()).toBe(before.sockets)
    expect(timers()).toBeLessThanOrEqual(before.timers)
  })

  it('and no second connection is made for a request that was aborted', async () => {
    const server = await rawServer(({ socket }) => socket.write(chunkedHead() + chunk('data: a\n\n')))
    const model = echoModel({ baseUrl: server.url })
    for (let round = 0; round < 5; round++) {
      const listening = listen(model)
      await listening.firstBatch
      listening.close()
      await pause(10)
    }
    expect(server.sockets).toHaveLength(5)
  })

  it('by fifty requests that ended or failed', async () => {
    const server = await rawServer(({ socket, head }) => {
      const isRefused = head.includes('/refused')
      if (isRefused) socket.write('HTTP/1.1 500 X\r\ncontent-length: 2\r\n\r\n{}')
      else socket.write(chunkedHead() + chunk('data: a\n\ndata: [DONE]\n\n') + lastChunk)
    })
    const port = await deadPort()
    const bases = [server.url, `${server.url}/refused`, `http://127.0.0.1:${port}`]
    await received(echoModel({ baseUrl: server.url }))
    const before = timers()
    for (let round = 0; round < 50; round++) await received(echoModel({ baseUrl: bases[round % 3] ?? '' }))
    await settled(() => timers() <= before)
    expect(timers()).toBeLessThanOrEqual(before)
    expect(server.sockets.filter((socket) => !socket.destroyed).length).toBeLessThanOrEqual(1)
  })
})
