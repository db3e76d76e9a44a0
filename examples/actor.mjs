// A run is an XState actor: watch its states, listen to what it emits, put it away as JSON and go on later.
import { Agent, tool } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { createActor, toPromise, waitFor } from 'xstate'
import { z } from 'zod'

const simulator = await startSimulator()

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  onInterrupted: 'rerun', // it only reads: a run that is restored while it runs may ask again
  execute: async ({ city }) => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    return { city, celsius: 21 }
  },
})

const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, tools: [weather] })

const watch = (name, actor) => {
  let last = ''
  actor.subscribe({
    next: ({ value }) => {
      const state = JSON.stringify(value)
      if (state !== last) console.log(`[${name}]`, state)
      last = state
    },
    error: console.error,
  })
  actor.on('tool.call', ({ call }) => console.log(`[${name}] calls ${call.name}`, call.arguments))
  actor.on('tool.result', ({ result }) => console.log(`[${name}] result ${result.result}`))
  actor.on('message', ({ message }) => console.log(`[${name}] a ${message.role} message joins the history`))
  actor.on('step', ({ step, metrics }) =>
    console.log(`[${name}] model call ${step}: ${metrics.chunks} chunks`),
  )
}

const first = createActor(agent.machine, { input: { prompt: 'What is the weather in Oslo?' } })
watch('first', first)
first.start()

// In the middle of the tool call: any moment will do, the context is plain JSON in all of them.
await waitFor(first, (snapshot) => snapshot.matches('ToolExecution'))
const stored = JSON.stringify(first.getPersistedSnapshot())
first.stop()
console.log(`\nstored in ${stored.length} characters; the first actor is gone\n`)

// Could be another process, days later. A call that has no result yet is run again.
const second = createActor(agent.machine, { snapshot: JSON.parse(stored) })
watch('second', second)
second.start()
const { status, output } = await toPromise(second)
console.log(`\n${status}: ${output}`)

await simulator.close()
