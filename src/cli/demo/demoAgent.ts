import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { Agent } from '../../agent/Agent.ts'
import type { Inspect } from '../../agent/watching.ts'
import { type Tool, tool } from '../../tools/tool.ts'
import { calculator } from '../tools/calculator.ts'

export type DemoOptions = {
  baseUrl: string
  inspect: Inspect
  /** How slow everything is: 1 for a person who watches, 0 for a script. */
  pace: number
}

export const demoPrompt =
  'What is the weather in Oslo and Bergen? What is 2 * 349 + 120? Then book a train to Bergen.'

/** An agent that shows everything: slow tools, a request that fails once, and a call that needs a yes. */
export const demoAgent = ({ baseUrl, inspect, pace }: DemoOptions): Agent =>
  new Agent('openai-chat:simulator', {
    name: 'travel agent',
    baseUrl,
    apiKey: 'simulator',
    inspect,
    thinking: true,
    // One call after the other, each in its own turn: there is more to see.
    parallelToolCalls: false,
    tools: [weather(pace), calculator, trains(pace)],
    retry: { maxRetries: 2, initialDelayMs: 4000 * pace },
    connection: { fetch: failingOnce(2) },
  })

const weather = (pace: number): Tool =>
  tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string() }),
    execute: async ({ city }, { signal, report }) => {
      for (const station of [1, 2, 3]) {
        await wait(1500 * pace, undefined, { signal })
        report(`station ${station} of 3 has answered`)
      }
      return { city, celsius: city === 'Bergen' ? 12 : 9, sky: city === 'Bergen' ? 'rain' : 'clear' }
    },
  })

const trains = (pace: number): Tool =>
  tool({
    name: 'book_train',
    description: 'Books a train to a city',
    input: z.object({ city: z.string() }),
    needsApproval: true,
    execute: async ({ city }, { signal }) => {
      await wait(3000 * pace, undefined, { signal })
      return `The train to ${city} at 08:25 is booked, coach 4, seat 12. No money was spent: this is a demo.`
    },
  })

/** A `fetch` that answers one request with an error: the one after this many. */
const failingOnce = (before: number): typeof fetch => {
  let count = 0
  return (input, init) => {
    count += 1
    if (count !== before + 1) return fetch(input, init)
    const body = JSON.stringify({ error: { message: 'The demo fails here on purpose.' } })
    return Promise.resolve(new Response(body, { status: 503 }))
  }
}
