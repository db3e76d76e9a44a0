// Debugging: a stream with several tool calls, everything it emits in the order it comes, and what must hold afterwards.
import { Agent, textOf, tool, toolCallsOf, toolResultsOf, validateHistory } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { createActor, toPromise } from 'xstate'
import { z } from 'zod'

const simulator = await startSimulator()
const input = z.object({ city: z.string() })
const tools = [
  tool({
    name: 'get_weather',
    description: 'Weather in a city',
    input,
    execute: ({ city }) => `21 °C in ${city}`,
  }),
  tool({ name: 'get_time', description: 'Time in a city', input, execute: ({ city }) => `12:00 in ${city}` }),
]
const agent = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, tools })
const actor = createActor(agent.machine, {
  input: { prompt: 'What are the weather and the time in Oslo and in Rome?' },
})

let count = 0
let streamed = ''
const log = (what, ...rest) => console.log(String(++count).padStart(3), what.padEnd(12), ...rest)

actor.on('chunk', ({ output, messages, finishReason, usage }) => {
  streamed += output
  if (output) log('text', JSON.stringify(output))
  for (const { role, parts } of messages) log('message', role, parts.map(({ type }) => type).join(' '))
  if (usage) log('end', finishReason, usage)
})
actor.on('tool.delta', ({ index, name, arguments: piece }) => log('tool.delta', index, name ?? '', piece))
actor.on('tool.call', ({ callId, call }) => log('tool.call', callId, call.name, call.arguments))
actor.on('tool.result', ({ callId, result }) => log('tool.result', callId, result.result))
actor.on('retry', ({ attempt, error }) => log('retry', attempt, error?.message))
actor.subscribe({ error: console.error })
actor.start()
const { messages } = await toPromise(actor)
await simulator.close()

const check = (promise, holds) => {
  console.log(holds ? 'ok  ' : 'FAIL', promise)
  if (!holds) process.exitCode = 1
}
const calls = messages.flatMap(toolCallsOf)
const results = messages.flatMap(toolResultsOf)
const stored = messages.filter(({ role }) => role === 'model').map(textOf)
console.log()
check(`${calls.length} calls have ids of their own`, new Set(calls.map(({ id }) => id)).size === calls.length)
check(
  'every call has its result, in call order',
  calls.map(({ id }) => id).join() === results.map(({ id }) => id).join(),
)
check(
  'the results of a round are one user message',
  messages.every((m) => m.role === 'user' || !toolResultsOf(m).length),
)
check('no text was dropped', streamed === stored.filter((text) => text !== '').join('\n'))
check('user and model alternate', validateHistory(messages).length === 0)
