import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { weather } from '../tool.mjs'

setTracingDisabled(true)

const weatherTool = tool({
  name: weather.name,
  description: weather.description,
  parameters: z.object({ city: z.string(), days: z.number() }),
  execute: weather.execute,
})

export const open = ({ baseUrl, hasTools }) => {
  const client = new OpenAI({ baseURL: baseUrl, apiKey: 'none', maxRetries: 0 })
  const model = new OpenAIChatCompletionsModel(client, 'gpt-5-mini')
  const agent = new Agent({ name: 'bench', model, tools: hasTools ? [weatherTool] : [] })
  return {
    async ask(prompt, { onText, signal } = {}) {
      const result = await run(agent, prompt, { stream: true, maxTurns: 200, signal })
      let text = ''
      for await (const piece of result.toTextStream()) {
        text += piece
        onText?.(piece)
      }
      await result.completed
      return { text, held: result.finalOutput }
    },
  }
}
