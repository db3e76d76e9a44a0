import { text } from 'node:stream/consumers'
import { createOpenAI } from '@ai-sdk/openai'
import { convertToModelMessages, pipeUIMessageStreamToResponse, streamText } from 'ai'

/** The chats of pages, as the AI SDK's guide for `node:http` serves them. */
export const open = ({ baseUrl }) => {
  const model = createOpenAI({ baseURL: baseUrl, apiKey: 'none' }).chat('gpt-5-mini')
  return {
    listener: async (request, response) => {
      const { messages } = JSON.parse(await text(request))
      const result = streamText({ model, messages: await convertToModelMessages(messages), maxRetries: 0 })
      pipeUIMessageStreamToResponse({ response, stream: result.toUIMessageStream() })
    },
  }
}
