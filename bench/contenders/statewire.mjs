import { z } from 'zod'
import { builtModule } from '../built.mjs'
import { weather } from '../tool.mjs'

const { Agent, tool } = await import(builtModule())

const weatherTool = tool({
  name: weather.name,
  description: weather.description,
  input: z.object({ city: z.string(), days: z.number() }),
  execute: weather.execute,
})

export const agentOf = ({ wire, baseUrl, hasTools, typed: _, driver: __, needsApproval, ...rest }) =>
  new Agent(wire.model, {
    baseUrl,
    apiKey: 'none',
    retry: { maxRetries: 0 },
    // A million chunks are more than the default allows.
    connection: { limits: { maxResponseSize: Number.MAX_SAFE_INTEGER } },
    ...(hasTools && {
      tools: [needsApproval ? { ...weatherTool, needsApproval } : weatherTool],
      toolExecution: 'parallel',
      maxSteps: 10_000,
    }),
    ...rest,
  })

/** The usual way: `for await` over `sendStream`. */
export const streaming = (agent) => ({
  async ask(prompt, { onText, onMessages, signal } = {}) {
    const held = []
    let text = ''
    for await (const { output, messages } of agent.sendStream(prompt, { signal })) {
      if (output !== '') {
        text += output
        onText?.(output)
      }
      if (messages.length > 0) {
        held.push(...messages)
        onMessages?.(messages)
      }
    }
    return { text, held }
  },
})

export const open = (options) => streaming(agentOf(options))
