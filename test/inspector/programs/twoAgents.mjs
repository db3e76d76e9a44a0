// Two agents that know of no inspector. Ends when its input does.
import { Agent } from 'statewire'
import { startSimulator } from 'statewire/simulator'

const simulator = await startSimulator()
for (const prompt of ['How much is 6 times 7?', 'How much is 2 plus 2?']) {
  const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, apiKey: 'a-key-of-the-test' })
  console.log((await agent.send(prompt)).output)
}
console.log('asked')
for await (const _ of process.stdin);
await simulator.close()
