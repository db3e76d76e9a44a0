import { z } from 'zod'
import { type Tool, tool } from '../../src/tools/tool.ts'

/** A tool that lists the calls it got. */
export const recorder = (
  name = 'echo',
  answer: (args: Record<string, unknown>) => unknown = (args) => args,
) => {
  const calls: string[] = []
  const args: Record<string, unknown>[] = []
  return {
    calls,
    args,
    tool: tool({
      name,
      description: `Records ${name}`,
      // It only looks at what it was given: a run that is restored while it runs ends as any other.
      onInterrupted: 'rerun',
      input: { jsonSchema: { type: 'object' } },
      execute: (given, { callId }) => {
        calls.push(callId)
        args.push(given)
        return answer(given)
      },
    }),
  }
}

/** A tool whose calls wait until the test lets them go. */
export const gated = (name = 'slow') => {
  const open = new Map<string, (value: unknown) => void>()
  const signals = new Map<string, AbortSignal>()
  const starts: string[] = []
  let running = 0
  let most = 0
  const gate: Tool = tool({
    name,
    description: `Waits, ${name}`,
    execute: (_, { callId, signal }) => {
      running += 1
      most = Math.max(most, running)
      starts.push(callId)
      signals.set(callId, signal)
      return new Promise((resolve) => {
        open.set(callId, (value) => {
          running -= 1
          resolve(value)
        })
      })
    },
  })
  return {
    tool: gate,
    starts,
    signals,
    get most() {
      return most
    },
    release(callId: string, value: unknown = `done ${callId}`) {
      open.get(callId)?.(value)
    },
  }
}

export const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})
