// A machine with Stately's agent decides, agents of statewire do the work. Not part of the tests: @statelyai/agent 1.1.6
// brings 60 MB of packages. npm install @statelyai/agent@1.1.6 zod@3 (its schemas are those of zod 3), then run this file.
import { createAgent, fromDecision } from '@statelyai/agent'
import { Agent, tool } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { assign, createActor, setup, waitFor } from 'xstate'
import { z } from 'zod'

const simulator = await startSimulator()
const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: { jsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
  execute: ({ city }) => ({ city, celsius: 21 }),
})
const { baseUrl } = simulator
const decider = new Agent('openai:simulator', { baseUrl })
const worker = new Agent('openai:simulator', { baseUrl, tools: [weather] })

/** Decisions: an agent chooses among the events that Stately's agent was given. */
const planner = async (agent, { goal, state, events }) => {
  const choice = {
    type: 'object',
    properties: { type: { enum: Object.keys(events) } },
    required: ['type'],
    additionalProperties: false,
  }
  const prompt = `Goal: ${goal}\nState: ${JSON.stringify(state)}\nChoose the next event.`
  const { output: nextEvent } = await decider.sendFor(prompt, { jsonSchema: choice })
  const { sessionId } = agent
  return { goal, state, nextEvent, execute: async () => nextEvent, sessionId, timestamp: Date.now() }
}

/** Text requests: an agent answers them, with its tools, retries and fallbacks. */
const adapter = {
  generateText: async ({ messages }) => ({ text: (await worker.send(messages.at(-1).content)).output }),
}

const reporter = createAgent({
  name: 'reporter',
  model: undefined,
  events: { research: z.object({}), publish: z.object({}) },
  adapter,
})

const newsroom = setup({
  actors: { decide: fromDecision(reporter, { planner }), research: worker.machine },
}).createMachine({
  context: { facts: [] },
  initial: 'Deciding',
  states: {
    Deciding: {
      invoke: {
        src: 'decide',
        input: ({ context }) => ({ goal: 'Report the weather once you have a fact.', context }),
        onError: 'Published',
      },
      on: {
        research: { guard: ({ context }) => context.facts.length === 0, target: 'Researching' },
        publish: 'Published',
      },
      after: { 5000: 'Published' },
    },
    Researching: {
      invoke: {
        src: 'research',
        input: { prompt: 'What is the weather in Oslo?' },
        onDone: {
          target: 'Published',
          actions: assign({ facts: ({ context, event }) => [...context.facts, event.output.output] }),
        },
      },
    },
    Published: { type: 'final' },
  },
})

const { context } = await waitFor(createActor(newsroom).start(), ({ status }) => status === 'done')
console.log('facts:', context.facts)
console.log('text:', (await reporter.generateText({ prompt: 'What is the weather in Bergen?' })).text)
await simulator.close()
