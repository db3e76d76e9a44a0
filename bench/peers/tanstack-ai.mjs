import { chat, maxIterations, toolDefinition } from '@tanstack/ai'
import { createOpenaiChatCompletions } from '@tanstack/ai-openai'
import { z } from 'zod'
import { weather } from '../tool.mjs'

const weatherTool = toolDefinition({
  name: weather.name,
  description: weather.description,
  inputSchema: z.object({ city: z.string(), days: z.number() }),
}).server(async (input) => weather.execute(input))

export const open = ({ baseUrl, hasTools }) => {
  const adapter = createOpenaiChatCompletions('gpt-5-mini', 'none', { baseURL: baseUrl, maxRetries: 0 })
  return {
    async ask(prompt, { onText, signal } = {}) {
      const abortController = new AbortController()
      signal?.addEventListener('abort', () => abortController.abort())
      const stream = chat({
        adapter,
        messages: [{ role: 'user', content: prompt }],
        abortController,
        ...(hasTools && { tools: [weatherTool], agentLoopStrategy: maxIterations(200) }),
      })
      let text = ''
      for await (const event of stream) {
        if (event.type === 'RUN_ERROR') throw new Error(event.message)
        if (event.type !== 'TEXT_MESSAGE_CONTENT') continue
        text += event.delta
        onText?.(event.delta)
      }
      return { text, held: text }
    },
  }
}
