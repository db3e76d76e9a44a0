// Answers of a type: validated values instead of text, also while they grow.
import { Agent, OutputValidationError } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { z } from 'zod'

const simulator = await startSimulator()
const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl })

const Trip = z.object({
  title: z.string().describe('A title for the trip'),
  cities: z.array(z.object({ name: z.string(), nights: z.int().min(1) })),
})

// `output` is what the schema says, or the call throws.
const { output, usage } = await agent.sendFor('Plan a trip to Oslo and Rome.', Trip)
console.log('title:', output.title)
for (const { name, nights } of output.cities) console.log(`  ${name}, ${nights} nights`)
console.log('used:', usage)

// While it grows: each output is what is known so far, the last one is the validated value.
let updates = 0
let last
for await (const { output } of agent.sendStreamFor('Plan a trip to Bergen and Lima.', Trip)) {
  updates += 1
  last = output
}
console.log(`after ${updates} updates:`, JSON.stringify(last))

// An answer that does not fit goes back to the model once; then it is an error that has the raw text.
const Impossible = z.object({ city: z.string() }).refine(() => false, 'nothing is good enough')
try {
  await agent.sendFor('Which city?', Impossible)
} catch (error) {
  if (!(error instanceof OutputValidationError)) throw error
  console.log(`${error.name}: ${error.message}`)
  console.log('the model had said:', error.rawOutput)
}

await simulator.close()
