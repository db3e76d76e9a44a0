// A plain agent: a prompt in, an answer out. Nothing here needs to know about statecharts.
import { Agent, Chat, tool } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

// Plays the provider, on this machine. With a key in OPENAI_API_KEY leave it out, and `baseUrl` too.
const simulator = await startSimulator()

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

const agent = new Agent('openai:simulator', {
  baseUrl: simulator.baseUrl,
  tools: [weather],
  system: 'Be brief.',
})

// The whole answer at once. The agent called the tool on the way.
const result = await agent.send('What is the weather in Oslo?')
console.log(result.output)
console.log('added to the history:', result.messages.map(({ role }) => role).join(', '))
console.log('used:', result.usage)

// The same, word by word. `history` continues a conversation.
for await (const chunk of agent.sendStream('What is the weather in Rome?', { history: result.messages })) {
  process.stdout.write(chunk.output)
}
console.log()

// A chat keeps the history by itself.
const chat = new Chat(agent)
await chat.send('What is the weather in Bergen?')
await chat.send('What is the weather in Lima?')
console.log('the chat has', chat.history.length, 'messages')

await simulator.close()
