import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { callChunk, chunk, usageChunk } from '../hostile/chatWire.ts'
import { sse } from '../hostile/wire.ts'

export type Speaker = {
  url: string
  /** Resolves with the next request's body, once it is there. */
  asked(): Promise<JsonObject>
  say(text: string): void
  call(name: string, args: object): void
  /** The answer is over. */
  end(): void
  /** Resolves when the other side has hung up. */
  hungUp(): Promise<void>
}

/** A provider on loopback that says what the test says, when the test says it. */
export const speaker = async (): Promise<Speaker> => {
  let response: ServerResponse | undefined
  let closed: Promise<unknown> = Promise.resolve()
  const requests: JsonObject[] = []
  const server = createServer((request, answer) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece) => {
      text += piece
    })
    request.on('end', () => {
      response = answer
      closed = once(answer, 'close')
      answer.writeHead(200, { 'content-type': 'text/event-stream' })
      answer.flushHeaders()
      requests.push(JSON.parse(text))
      server.emit('asked')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  let calls = 0
  const write = (...events: (JsonObject | string)[]) => response?.write(sse(...events).join(''))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async asked() {
      if (requests.length === 0) await once(server, 'asked')
      return requests.shift() ?? {}
    },
    say: (text) => write(chunk({ content: text })),
    call: (name, args) => {
      calls += 1
      write(callChunk({ index: 0, id: `call_${calls}`, name, args: JSON.stringify(args) }))
    },
    end: () => {
      write(chunk({}, 'stop'), usageChunk, '[DONE]')
      response?.end()
    },
    hungUp: async () => {
      await closed
    },
  }
}
