import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'
import type { Turn, Wire } from '../hostile/wire.ts'
import { type RunServer, runServer } from './runServer.ts'

export const prompt = 'Compare the cities.'
export const farewell = 'All four are fine.'

const call = (city: string) => ({ id: city, name: 'get_weather', args: JSON.stringify({ city }) })

const turns = {
  first: { text: 'Let me look.', calls: [call('a1'), call('a2')] },
  second: { text: 'And two more.', calls: [call('b1'), call('b2')] },
  last: { text: farewell },
} satisfies Record<string, Turn>

/** Which turn it is, by what the request brings: the results name their city. */
export const turnFor = (wire: Wire, body: JsonObject): Turn => {
  const isAsked = JSON.stringify(body).includes(prompt) || body.previous_response_id
  if (!body.tools || !isAsked) return turns.last
  const newest = wire.sentResults(body).at(-1)?.text ?? ''
  if (newest.includes('b2')) return turns.last
  return newest.includes('a2') ? turns.second : turns.first
}

/** A slow tool that heeds its signal or does not, and the signals of its calls that did not finish. */
export const slowWeather = (heedsSignal: boolean) => {
  const open = new Set<AbortSignal>()
  let running = 0
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string() }),
    execute: async ({ city }, { signal }) => {
      running += 1
      open.add(signal)
      try {
        await sleep(1, undefined, heedsSignal ? { signal } : {})
        if (!signal.aborted) open.delete(signal)
        return { city }
      } finally {
        running -= 1
      }
    },
  })
  return {
    tool: weather,
    /** True if every call has finished, or was aborted. */
    async expectSignalled(): Promise<void> {
      expect([...open].filter(({ aborted }) => !aborted)).toEqual([])
      open.clear()
      while (running > 0) await sleep(1)
    },
  }
}

/** Two rounds of two slow tools. */
export const toolLoop = (server: RunServer, wire: Wire, heedsSignal: boolean, options: AgentOptions = {}) => {
  const weather = slowWeather(heedsSignal)
  const agent = new Agent(wire.model, {
    baseUrl: server.url,
    apiKey: 'k',
    tools: [weather.tool],
    retry: { maxRetries: 0 },
    ...options,
  })
  return { agent, weather }
}

export const loopServer = (wire: Wire): Promise<RunServer> => runServer(wire, (body) => turnFor(wire, body))

/** Timers that keep the process alive. */
export const timers = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

/** Whatever a run leaves behind is seen here. Our own connections keep at most two sockets idle. */
export const expectNothingLeft = async (
  server: RunServer,
  signal: AbortSignal,
  timersBefore: number,
  idleSockets = 2,
): Promise<void> => {
  await server.quiet()
  expect(server.inFlight.size).toBe(0)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  // The end of an answer that the server has written is read in one of the next turns.
  for (let turn = 0; turn < 100 && timers() > timersBefore; turn += 1) await idle(1)
  expect(timers()).toBeLessThanOrEqual(timersBefore)
  expect(server.sockets.size).toBeLessThanOrEqual(idleSockets)
}
