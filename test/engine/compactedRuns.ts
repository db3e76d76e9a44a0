import {
  Agent,
  type AgentEmitted,
  type AgentOptions,
  type ChatMessage,
  modelMessage,
  userMessage,
} from '../../src/index.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'

export const long = 'lorem ipsum '.repeat(100)

/** Twenty messages of about 300 tokens each. */
export const talk: ChatMessage[] = Array.from({ length: 10 }, (_, index) => [
  userMessage(`Question ${index}: ${long}`),
  modelMessage(`Answer ${index}: ${long}`),
]).flat()

export const overflow = (more: object = {}): ScriptTurn => [
  { error: { message: 'too long', code: 'context_overflow', retryable: false, ...more } },
]

/** What the chart emitted of compactions, and the requests that were sent. */
export const ran = async (
  turns: ScriptTurn[],
  options: AgentOptions = {},
  history = talk,
  prompt = 'Go on.',
) => {
  const model = scriptedModel(turns)
  const agent = new Agent(model, { retry: { maxRetries: 1, initialDelayMs: 1 }, ...options })
  const compactions: Extract<AgentEmitted, { type: 'compaction' }>[] = []
  const run = agent.start(prompt, { history })
  run.on('compaction', (event) => compactions.push(event))
  const result = await run.result.catch((error: unknown) => error)
  return { result, compactions, requests: model.requests as ModelRequest[] }
}
