import { Agent } from '@earendil-works/pi-agent-core'
import { Type } from '@earendil-works/pi-ai'
import { streamSimple } from '@earendil-works/pi-ai/api/openai-completions'
import { weather } from '../tool.mjs'

const weatherTool = {
  name: weather.name,
  label: weather.name,
  description: weather.description,
  parameters: Type.Object({ city: Type.String(), days: Type.Number() }),
  execute: async (_, input) => ({
    content: [{ type: 'text', text: JSON.stringify(weather.execute(input)) }],
    details: undefined,
  }),
}

export const open = ({ baseUrl, hasTools }) => {
  const model = {
    id: 'gpt-5-mini',
    name: 'gpt-5-mini',
    api: 'openai-completions',
    provider: 'openai',
    baseUrl,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1_000_000,
    maxTokens: 64_000,
  }
  return {
    async ask(prompt, { onText, signal } = {}) {
      const agent = new Agent({
        initialState: { model, tools: hasTools ? [weatherTool] : [] },
        streamFn: (asked, context, options) =>
          streamSimple(asked, context, { ...options, apiKey: 'none', maxRetries: 0 }),
        toolExecution: 'parallel',
      })
      signal?.addEventListener('abort', () => agent.abort())
      let text = ''
      agent.subscribe(({ type, assistantMessageEvent: event }) => {
        if (type !== 'message_update' || event.type !== 'text_delta') return
        text += event.delta
        onText?.(event.delta)
      })
      await agent.prompt(prompt)
      return { text, held: agent.state.messages }
    },
  }
}
