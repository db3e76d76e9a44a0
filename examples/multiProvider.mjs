// One conversation across providers: what one wire format brought is sent on in the other.
import { Agent, tool, validateHistory } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const simulator = await startSimulator()

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

// `fetch` carries the requests: here it only shows where they go.
const options = {
  baseUrl: simulator.baseUrl,
  tools: [weather],
  fetch: (url, init) => {
    const { messages } = JSON.parse(init.body)
    console.log(`  POST ${new URL(url).pathname}, ${messages.length} messages on the wire`)
    return fetch(url, init)
  },
}

const models = [
  new Agent('openai:simulator', options),
  new Agent('anthropic:simulator', options),
  new Agent('openai:simulator', options),
]
const questions = [
  'What is the weather in Oslo?',
  'And what is the weather in Rome?',
  'And what is the weather in Lima?',
]

// The history has no provider: ids are mapped where a wire restricts them, results go where each wire wants them.
let history = []
for (const [nth, agent] of models.entries()) {
  console.log(`${agent.model.provider}: ${questions[nth]}`)
  const { output, messages } = await agent.send(questions[nth], { history })
  console.log(`  ${output.replaceAll('\n', ' ')}`)
  history = [...history, ...messages]
}

console.log(`${history.length} messages, ${validateHistory(history).length} problems`)
await simulator.close()
