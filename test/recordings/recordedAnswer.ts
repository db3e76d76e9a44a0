import { Agent, StatewireError, textOf, toolCallsOf } from '../../src/index.ts'
import { type ExpectedCall, expectedOf, providerOf, type Recording } from './recordings.ts'

/** The answer of one exchange of a conversation. */
export type Answer = { text: string; toolCalls: ExpectedCall[]; isError: boolean }

/** The independent reading of an exchange where there is one; else our own, with no loop around it. */
export const recordedAnswer = async (exchange: Recording, baseUrl: string): Promise<Answer> => {
  const expected = expectedOf(exchange)
  if (expected) {
    const { text, toolCalls, error } = expected
    return { text, toolCalls, isError: error !== undefined && error !== null }
  }
  const agent = new Agent(providerOf(exchange.protocol), { baseUrl, apiKey: 'key', maxSteps: 1 })
  try {
    const { output, messages } = await agent.send('hi')
    return { text: output, toolCalls: messages.flatMap(toolCallsOf), isError: false }
  } catch (error) {
    if (!(error instanceof StatewireError)) throw error
    const messages = error.partial?.messages.filter(({ role }) => role === 'model') ?? []
    return { text: messages.map(textOf).join(''), toolCalls: [], isError: true }
  }
}
