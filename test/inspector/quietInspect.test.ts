import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { createWebSocketInspector, type StatelyInspectionEvent } from '@statelyai/inspect'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { InspectionEvent } from 'xstate'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { quietInspect } from '../../src/inspector/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'

type Socket = { on(event: 'message', listener: (data: Buffer) => void): void }
type SocketServer = NodeJS.EventEmitter & {
  address(): AddressInfo
  close(): void
  clients: Set<{ terminate(): void }>
}
type Ws = { WebSocketServer: new (options: { host: string; port: number }) => SocketServer }

// The package has no types of its own here.
const { WebSocketServer }: Ws = createRequire(import.meta.url)('ws')

const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `21 °C in ${city}`,
})

const chunks = 500
const model = () =>
  scriptedModel([
    [{ toolCall: { id: 'call_1', name: 'get_weather', arguments: { city: 'Oslo' } } }],
    Array.from({ length: chunks }, (_, index) => ({ text: `word${index} ` })),
  ])

const isEnd = (event: StatelyInspectionEvent) =>
  event.type === '@xstate.snapshot' && 'value' in event.snapshot && event.snapshot.value === 'Complete'

describe('quietInspect', () => {
  it('passes actors and states to the Stately inspector, but no chunks', async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    await once(server, 'listening')
    const received: StatelyInspectionEvent[] = []
    const ended = new Promise<void>((resolve) => {
      server.on('connection', (socket: Socket) => {
        socket.on('message', (data) => {
          const event: StatelyInspectionEvent = JSON.parse(data.toString())
          received.push(event)
          if (isEnd(event)) resolve()
        })
      })
    })
    const stately = createWebSocketInspector({ url: `ws://127.0.0.1:${server.address().port}` })
    onTestFinished(() => {
      stately.stop()
      for (const client of server.clients) client.terminate()
      server.close()
    })
    await once(server, 'connection')
    const agent = new Agent(model(), { tools: [weather], inspect: quietInspect(stately.inspect) })
    const { output } = await agent.send('Weather in Oslo?')
    await ended

    // Without the filter there would be more than two for each chunk.
    expect(received.length).toBeLessThan(80)
    const [root] = received
    expect(root).toMatchObject({ type: '@xstate.actor', name: 'agent' })
    const actors = received
      .filter(({ type }) => type === '@xstate.actor')
      .map((event) => 'name' in event && event.name)
    expect(actors).toEqual(expect.arrayContaining(['model', 'toolExecutor', 'call:call_1']))
    const values = received.flatMap((event) =>
      event.type === '@xstate.snapshot' && event.sessionId === root?.sessionId && 'value' in event.snapshot
        ? [JSON.stringify(event.snapshot.value)]
        : [],
    )
    expect(values.filter((value, index) => value !== values[index - 1])).toEqual([
      '{"Accumulating":"Requesting"}',
      '{"Accumulating":"Streaming"}',
      '{"ToolExecution":"Working"}',
      '{"Accumulating":"Requesting"}',
      '{"Accumulating":"Streaming"}',
      '"Complete"',
    ])
    const texts = received.flatMap((event) => {
      const context = 'snapshot' in event && 'context' in event.snapshot ? event.snapshot.context : {}
      const text = context?.answer?.accumulated?.text
      return text ? [text] : []
    })
    expect(texts.at(-1)).toBe(output)
    expect(texts.length).toBeLessThan(5)
  })

  it('takes an observer or a function, and passes only the last snapshot of a stream', async () => {
    const byObserver: InspectionEvent[] = []
    const inspect = { next: (event: InspectionEvent) => byObserver.push(event) }
    await new Agent(model(), { tools: [weather], inspect: quietInspect(inspect) }).send('Weather in Oslo?')
    const byFunction: InspectionEvent[] = []
    const pass = (event: InspectionEvent) => {
      byFunction.push(event)
    }
    await new Agent(model(), { tools: [weather], inspect: quietInspect(pass) }).send('Weather in Oslo?')
    expect(byFunction.map(({ type }) => type)).toEqual(byObserver.map(({ type }) => type))
    expect(new Set(byObserver.map(({ type }) => type))).toEqual(
      new Set(['@xstate.actor', '@xstate.event', '@xstate.snapshot']),
    )
    const events = byObserver.flatMap((event) => (event.type === '@xstate.event' ? [event.event.type] : []))
    expect(events).not.toContain('model.deltas')
    expect(events.filter((type) => type === 'calls.run')).toHaveLength(1)
    const reads = byObserver.filter(
      (event) => event.type === '@xstate.snapshot' && event.event.type === 'model.deltas',
    )
    // For each answer: the one that changed the state, and the last.
    expect(reads).toHaveLength(4)
  })
})
