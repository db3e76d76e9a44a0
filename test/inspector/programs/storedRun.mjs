// A stored run in a file of its own, by the path that is given. Ends when its input does.
import { Agent } from 'statewire'
import { openRuns, sqlite } from 'statewire/durable'
import { startSimulator } from 'statewire/simulator'

const simulator = await startSimulator()
const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, apiKey: 'a-key-of-the-test' })
const runs = await openRuns({ store: sqlite(process.argv[2]), agents: { counter: agent } })
const run = await runs.start('counter', 'How much is 6 times 7?', { id: 'job-7' })
await run.result
console.log('asked')
for await (const _ of process.stdin);
await runs.close()
await simulator.close()
