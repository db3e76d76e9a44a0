import { createOpenAI } from '@ai-sdk/openai'
import { stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { weather } from '../tool.mjs'

const tools = {
  [weather.name]: tool({
    description: weather.description,
    inputSchema: z.object({ city: z.string(), days: z.number() }),
    execute: weather.execute,
  }),
}

export const open = ({ baseUrl, hasTools }) => {
  const model = createOpenAI({ baseURL: baseUrl, apiKey: 'none' }).chat('gpt-5-mini')
  return {
    async ask(prompt, { onText, signal } = {}) {
      const { textStream } = streamText({
        model,
        prompt,
        maxRetries: 0,
        abortSignal: signal,
        onError: ({ error }) => {
          throw error
        },
        ...(hasTools && { tools, stopWhen: stepCountIs(200) }),
      })
      let text = ''
      for await (const piece of textStream) {
        text += piece
        onText?.(piece)
      }
      return { text, held: text }
    },
  }
}
