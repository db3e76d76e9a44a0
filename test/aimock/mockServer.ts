import { LLMock } from '@copilotkit/aimock'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions, tool } from '../../src/index.ts'

/** The providers the mock server speaks, and where each of them begins there. */
export const places = [
  { provider: 'openai', path: '/v1' },
  { provider: 'openai-responses', path: '/v1' },
  { provider: 'openrouter', path: '/api/v1' },
  { provider: 'groq', path: '/v1' },
  { provider: 'together', path: '/v1' },
  { provider: 'fireworks', path: '/v1' },
  { provider: 'nvidia', path: '/v1' },
  { provider: 'ollama-openai', path: '/v1' },
  { provider: 'mistral', path: '/v1' },
  { provider: 'anthropic', path: '/v1' },
  { provider: 'google', path: '/v1beta' },
  { provider: 'ollama', path: '/api' },
  { provider: 'cohere', path: '/v2' },
]

export type Place = (typeof places)[number]

/** A mock server for one test; it has only the fixtures of the test, and takes only its own key. */
export const startMock = async (): Promise<LLMock> => {
  const mock = new LLMock({ port: 0, strict: true, auth: { apiKeys: ['test-key'] } })
  await mock.start()
  onTestFinished(() => mock.stop())
  return mock
}

export const agentAt = (mock: LLMock, { provider, path }: Place, options: AgentOptions = {}): Agent =>
  new Agent(provider, { baseUrl: `${mock.url}${path}`, apiKey: 'test-key', ...options })

/** Remembers what it was asked. */
export const weatherTool = () => {
  const asked: string[] = []
  const weather = tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string() }),
    execute: ({ city }) => {
      asked.push(city)
      return { city, celsius: 21 }
    },
  })
  return { weather, asked }
}
