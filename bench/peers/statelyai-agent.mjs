import { createRequire } from 'node:module'
import { createAgent } from '@statelyai/agent'
import { weather } from '../tool.mjs'

// It brings its own, older AI SDK, which its models and schemas must come from.
const require = createRequire(createRequire(import.meta.url).resolve('@statelyai/agent'))
const { createOpenAI } = require('@ai-sdk/openai')
const { tool } = require('ai')
const { z } = require('zod')

const tools = {
  [weather.name]: tool({
    description: weather.description,
    parameters: z.object({ city: z.string(), days: z.number() }),
    execute: async (input) => weather.execute(input),
  }),
}

export const open = ({ baseUrl, hasTools }) => {
  const model = createOpenAI({ baseURL: baseUrl, apiKey: 'none', compatibility: 'strict' }).chat('gpt-4o')
  return {
    async ask(prompt, { onText, signal } = {}) {
      // It keeps every message it has seen, so that each question gets an agent of its own.
      const agent = createAgent({ name: 'bench', model, events: {} })
      const { textStream } = await agent.streamText({
        prompt,
        maxRetries: 0,
        abortSignal: signal,
        ...(hasTools && { tools, maxSteps: 200 }),
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
