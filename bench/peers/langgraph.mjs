import { randomUUID } from 'node:crypto'
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

export const open = (options) => agentWith(options)

/** The agent, with a checkpointer if there is one. */
export const agentWith = ({ baseUrl, hasTools }, checkpointer) => {
  const llm = new ChatOpenAI({
    model: 'gpt-5-mini',
    apiKey: 'none',
    maxRetries: 0,
    useResponsesApi: false,
    configuration: { baseURL: baseUrl },
  })
  const agent = createReactAgent({
    llm,
    tools: hasTools ? [weatherTool] : [],
    ...(checkpointer && { checkpointer }),
  })
  return {
    async ask(prompt, { onText, signal } = {}) {
      const messages = [{ role: 'user', content: prompt }]
      const thread = checkpointer && { configurable: { thread_id: randomUUID() } }
      const settings = { streamMode: 'messages', recursionLimit: 500, signal, ...thread }
      const stream = await agent.stream({ messages }, settings)
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
