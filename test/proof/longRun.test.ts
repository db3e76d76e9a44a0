/**
 * A run of hundreds of steps in a small window, over sockets: it ends right, its history is complete and valid, and once a
 * provider has refused a request, no further one is too long.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  type AgentEmitted,
  type ChatMessage,
  tool,
  toolResultsOf,
  validateHistory,
} from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { chunk, usageChunk } from '../hostile/chatWire.ts'
import { objects, sse, text } from '../hostile/wire.ts'
import { loopback, type Reply } from '../loopback.ts'
import { dice } from './dice.ts'

const window = 8000
const steps = 400

/** A ratio that no estimate would use. */
const tokensOf = (body: string): number => Math.ceil(body.length / 3.1)

const answer = (content: JsonObject, finish: string, inputTokens: number): Reply => {
  const usage = { prompt_tokens: inputTokens, completion_tokens: 20, total_tokens: inputTokens + 20 }
  return { body: sse(chunk(content), chunk({}, finish), { ...usageChunk, usage }, '[DONE]').join('') }
}

/** Says "too long" in the words of vLLM, and states another window than the true one. */
const refusal = (stated: number, tokens: number): Reply => ({
  status: 400,
  body: {
    error: {
      message: `This model's maximum context length is ${stated} tokens. However, you requested ${tokens} tokens (${tokens} in the messages, 0 in the completion).`,
    },
  },
})

const isSummary = (body: JsonObject): boolean => body.tools === undefined

/** Counts the calls from the number in the newest result, as an agent that remembers nothing else would. */
const server = (stated: number) => {
  const sizes: number[] = []
  const refused: number[] = []
  let summaries = 0
  let rewritten = 0
  let before: string[] = []
  return {
    sizes,
    refused,
    get summaries() {
      return summaries
    },
    get rewritten() {
      return rewritten
    },
    reply: ({ body, text: sent }: { body: JsonObject; text: string }): Reply => {
      const tokens = tokensOf(sent)
      sizes.push(tokens)
      if (tokens > window) {
        refused.push(sizes.length)
        return refusal(stated, tokens)
      }
      if (isSummary(body)) {
        summaries += 1
        return answer({ content: `They count. This is summary ${summaries}.` }, 'stop', tokens)
      }
      const messages = objects(body.messages).map((message) => JSON.stringify(message))
      if (before.some((message, index) => messages[index] !== message)) rewritten += 1
      before = messages
      const last = objects(body.messages).at(-1)
      const done = Number(/^done (\d+)/.exec(text(last?.content))?.[1] ?? 0)
      if (done >= steps - 1) return answer({ content: `Counted to ${done}.` }, 'stop', tokens)
      const call = {
        index: 0,
        id: `c${done + 1}`,
        type: 'function',
        function: { name: 'count', arguments: `{"to":${done + 1}}` },
      }
      return answer({ content: 'On I go.', tool_calls: [call] }, 'tool_calls', tokens)
    },
  }
}

const random = dice(7)
const count = tool({
  name: 'count',
  description: 'Counts',
  input: z.object({ to: z.number() }),
  execute: ({ to }) => `done ${to} ${'lorem '.repeat(20 + random.below(300))}`,
})

test.each([
  ['that states its window', window],
  ['whose window is smaller than it says', 12_000],
])(
  '400 steps at a provider %s',
  async (_, stated) => {
    const script = server(stated)
    const { url } = await loopback((request) => script.reply(request))
    const agent = new Agent('openai:m', { baseUrl: url, apiKey: 'k', tools: [count], maxSteps: 1000 })
    const run = agent.start('Count as far as you can.')
    const emitted: AgentEmitted[] = []
    run.on('compaction', (event) => emitted.push(event))
    const { output, messages, finishReason } = await run.result
    expect(finishReason).toBe('stop')
    expect(output.endsWith(`Counted to ${steps - 1}.`)).toBe(true)
    expect(validateHistory(messages)).toEqual([])
    // Everything is there, though the model has not seen most of it for long.
    const results = messages.flatMap(toolResultsOf)
    expect(results.map(({ id }) => id)).toEqual(results.map((_, index) => `c${index + 1}`))
    expect(results).toHaveLength(steps - 1)
    const markers = messages.filter((message: ChatMessage) => message.metadata?.compaction)
    expect(markers).toHaveLength(emitted.length)
    expect(script.refused).toHaveLength(1)
    // Between two compactions each request only adds to the one before: a provider's cache stays good.
    expect(script.rewritten).toBe(emitted.length)
    expect(emitted.length).toBeGreaterThan(10)
  },
  600_000,
)
