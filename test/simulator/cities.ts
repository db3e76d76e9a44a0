import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'
import { tool } from '../../src/tools/tool.ts'

export const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string(), unit: z.enum(['celsius', 'fahrenheit']).optional() }),
  execute: ({ city }) => ({ city, degrees: city.length, sky: 'clear' }),
})

export const time = tool({
  name: 'get_time',
  description: 'Current time in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `It is noon in ${city}.`,
})

export const calculator = tool({
  name: 'calculator',
  description: 'Calculates',
  input: z.object({ expression: z.string() }),
  execute: ({ expression }) => `${expression} is calculated.`,
})

/** A simulator for one test. */
export const simulated = async (): Promise<Simulator> => {
  const simulator = await startSimulator({ delayMs: 0 })
  onTestFinished(simulator.close)
  return simulator
}

export const agentOn = async (model: string, options: AgentOptions = {}): Promise<Agent> => {
  const { baseUrl } = await simulated()
  return new Agent(model, { baseUrl, ...options })
}

export const callsIn = ({ messages }: ChatResult<unknown>): [string, unknown][] =>
  messages.flatMap(toolCallsOf).map(({ name, arguments: args }) => [name, args])
