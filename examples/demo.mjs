// The main job, with no key and no network: an agent with two tools answers a prompt, and shows its states.
import { Agent, tool } from 'statewire'
import { z } from 'zod'
import { startSimulator } from './simulator.mjs'

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 7 + city.length, sky: 'clear' }),
})

const time = tool({
  name: 'get_time',
  description: 'Current time in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `${new Date().toISOString().slice(11, 16)} UTC, asked for ${city}`,
})

const prompt = process.argv.slice(2).join(' ') || 'What are the weather and the time in Bergen?'
const simulator = await startSimulator()
console.log('No model is configured: a built-in simulator answers, by rules, over a real socket.\n')
console.log(`> ${prompt}\n`)

const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, tools: [weather, time] })
const actor = agent.actor({ prompt })
let shown = ''
const showState = () => {
  const { value } = actor.getSnapshot()
  const state = typeof value === 'string' ? value : Object.entries(value).flat().join('.')
  if (state !== shown) console.log(`${shown === '' ? '' : '\n'}  · ${state}`)
  shown = state
}
actor.subscribe({
  next: showState,
  error: (error) => console.error(error),
  complete: () => {
    const { status, usage } = actor.getSnapshot().output
    console.log(`\n${status}, ${usage?.inputTokens ?? '?'} tokens in, ${usage?.outputTokens ?? '?'} out`)
    return simulator.close()
  },
})
actor.on('chunk', ({ output }) => {
  showState()
  process.stdout.write(output)
})
actor.on('tool.call', ({ call }) => console.log(`  · calls ${call.name}(${JSON.stringify(call.arguments)})`))
actor.start()
