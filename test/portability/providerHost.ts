import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { Agent, type ChatMessage, type JsonObject, tool } from '../../src/index.ts'
import { loopback, type Received } from '../loopback.ts'
import { lastWords, type Source } from './source.ts'
import { sources } from './sources.ts'

export const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

export type Host = { agent: Agent; requests: Received[] }

/**
 * A provider under its real name: requests to its real host arrive at a server of this test, so that the profile is
 * the one the real provider gets.
 */
export const host = async (
  model: string,
  answers: string[],
  providerOptions: JsonObject = {},
): Promise<Host> => {
  const { url, requests } = await loopback((_, nth) => ({ body: answers[nth] ?? answers.at(-1) ?? '' }))
  let isOpen = true
  onTestFinished(() => {
    isOpen = false
  })
  const agent = new Agent(model, {
    apiKey: 'key',
    system: 'Be brief.',
    tools: [weather],
    retry: { maxRetries: 0 },
    providerOptions,
    connection: {
      fetch: (input, init) => {
        if (!isOpen) throw new Error('The test is over.')
        const { pathname, search } = new URL(String(input))
        return fetch(`${url}${pathname}${search}`, init)
      },
    },
  })
  return { agent, requests }
}

/** The conversation with a provider up to its last words. */
export const historyFrom = async (source: Source): Promise<ChatMessage[]> => {
  const { agent } = await host(source.model, source.answers)
  const { messages } = await agent.send('How is the weather in Oslo and Rome?')
  return messages
}

/** The request to a provider that takes over a conversation. */
export const takeOver = async (
  model: string,
  history: ChatMessage[],
  prompt = 'And tomorrow?',
  providerOptions: JsonObject = {},
) => {
  const { agent, requests } = await host(model, [finalAnswerOf(agentProtocol(model))], providerOptions)
  const result = await agent.send(prompt, { history })
  const request = requests[0]
  if (!request || result.output !== lastWords)
    throw new Error('The provider was not asked, or its answer was lost.')
  return { body: request.body, messages: result.messages }
}

const finalAnswerOf = (protocol: string): string =>
  sources.find((source) => source.protocol === protocol)?.answers.at(-1) ?? ''

export const agentProtocol = (model: string): string => {
  const provider = (model.split(':')[0] ?? '').replace('other-', '')
  return provider === 'openai' || provider === 'openrouter' ? 'openai-chat' : provider
}
