import { tool } from '@langchain/core/tools'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { weather } from '../tool.mjs'

const weatherTool = tool(weather.execute, {
  name: weather.name,
  description: weather.description,
  schema: z.object({ city: z.string(), days: z.number() }),
})

export const open = ({ baseUrl, hasTools }) => {
  const llm = new ChatOpenAI({
    model: 'gpt-5-mini',
    apiKey: 'none',
    maxRetries: 0,
    useResponsesApi: false,
    configuration: { baseURL: baseUrl },
  })
  const agent = createReactAgent({ llm, tools: hasTools ? [weatherTool] : [] })
  return {
    async ask(prompt, { onText, signal } = {}) {
      const messages = [{ role: 'user', content: prompt }]
      const stream = await agent.stream({ messages }, { streamMode: 'messages', recursionLimit: 60, signal })
      let text = ''
      for await (const [message] of stream) {
        if (message.getType() !== 'ai' || message.content === '') continue
        text += message.content
        onText?.(message.content)
      }
      return { text, held: text }
    },
  }
}
