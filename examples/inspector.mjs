// Watching a run live: a page on this machine shows its states, messages, tools and tokens while they happen.
import { Agent, tool } from 'statewire'
import { startInspector } from 'statewire/inspector'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const simulator = await startSimulator({ delayMs: 80 })
const inspector = await startInspector()
console.log(`Open ${inspector.url} in a browser. Ctrl+C ends this.`)

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    return { city, celsius: 21 }
  },
})

// `inspect` is XState's own: give it to agents, or to `createActor` for any machine of yours.
const agent = new Agent('openai:simulator', {
  baseUrl: simulator.baseUrl,
  tools: [weather],
  inspect: inspector.inspect,
})

// With --once it asks one question and ends; otherwise it goes on until it is stopped, so that there is something to see.
const cities = ['Oslo', 'Rome', 'Lima', 'Bergen']
const isOnce = process.argv.includes('--once')
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
for (let nth = 0; !stop.signal.aborted; nth++) {
  const prompt = `What is the weather in ${cities[nth % cities.length]}?`
  try {
    const { output } = await agent.send(prompt, { signal: stop.signal })
    console.log(`${prompt} ${output.replaceAll('\n', ' ')}`)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  if (isOnce) break
}

await inspector.close()
await simulator.close()
