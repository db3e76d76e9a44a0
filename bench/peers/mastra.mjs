import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { weather } from '../tool.mjs'

const weatherTool = createTool({
  id: weather.name,
  description: weather.description,
  inputSchema: z.object({ city: z.string(), days: z.number() }),
  execute: async (input) => weather.execute(input),
})

export const open = ({ baseUrl, hasTools }) => {
  const agent = new Agent({
    id: 'bench',
    name: 'bench',
    instructions: 'Answer.',
    model: { id: 'bench/gpt-5-mini', url: baseUrl, apiKey: 'none' },
    maxRetries: 0,
    ...(hasTools && { tools: { [weather.name]: weatherTool } }),
  })
  return {
    async ask(prompt, { onText, signal } = {}) {
      const { textStream } = await agent.stream(prompt, { maxSteps: 200, abortSignal: signal })
      let text = ''
      for await (const piece of textStream) {
        text += piece
        onText?.(piece)
      }
      return { text, held: text }
    },
  }
}
