import { rawTool, streamText } from 'xsai'
import { weather } from '../tool.mjs'

const tools = [rawTool({ ...weather, execute: (input) => weather.execute(input) })]

export const open = ({ baseUrl, hasTools }) => ({
  async ask(prompt, { onText, signal } = {}) {
    const { textStream } = streamText({
      apiKey: 'none',
      baseURL: `${baseUrl}/`,
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: prompt }],
      streamOptions: { includeUsage: true },
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
})
