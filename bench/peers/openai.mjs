import OpenAI from 'openai'
import { weather } from '../tool.mjs'

const model = 'gpt-5-mini'
const tools = [
  {
    type: 'function',
    function: {
      name: weather.name,
      description: weather.description,
      parameters: weather.parameters,
      parse: JSON.parse,
      function: weather.execute,
    },
  },
]

/** Reads its chunks as they come; with tools, its own tool runner. */
export const open = ({ baseUrl, hasTools }) => {
  const { completions } = new OpenAI({ baseURL: baseUrl, apiKey: 'none', maxRetries: 0 }).chat
  const stream = (messages, signal) =>
    hasTools
      ? completions.runTools({ model, messages, tools, stream: true }, { signal, maxChatCompletions: 200 })
      : completions.create(
          { model, messages, stream: true, stream_options: { include_usage: true } },
          { signal },
        )
  return {
    async ask(prompt, { onText, signal } = {}) {
      let text = ''
      for await (const { choices } of await stream([{ role: 'user', content: prompt }], signal)) {
        const piece = choices[0]?.delta.content
        if (!piece) continue
        text += piece
        onText?.(piece)
      }
      return { text, held: text }
    },
  }
}
