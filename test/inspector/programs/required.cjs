// The same in CommonJS.
const { Agent } = require('statewire')
const { startSimulator } = require('statewire/simulator')

const main = async () => {
  const simulator = await startSimulator()
  const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, apiKey: 'a-key-of-the-test' })
  console.log((await agent.send('How much is 6 times 7?')).output)
  console.log('asked')
  for await (const _ of process.stdin);
  await simulator.close()
}

main()
