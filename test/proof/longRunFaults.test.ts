/**
 * A long run in a small window whose provider fails at random, in every way that it can, and that is stored and recovered
 * at random moments, also while it is compacted or waits at a limit: it ends right all the same.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, tool, toolResultsOf, validateHistory } from '../../src/index.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { chunk, usageChunk } from '../hostile/chatWire.ts'
import { overflowRows } from '../hostile/overflowRows.ts'
import { objects, sse, text } from '../hostile/wire.ts'
import { loopback, type Reply } from '../loopback.ts'
import { type Dice, dice } from './dice.ts'
import { isWhole, proofSeed } from './sample.ts'

const window = 6000
const steps = 40
const seeds = Array.from({ length: isWhole ? 72 : 12 }, (_, index) => proofSeed + index)

const refusals = overflowRows.filter(({ model, body }) => model.startsWith('openai:') && body !== '')

const answer = (content: JsonObject, finish: string, tokens: number): string => {
  const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 }
  return sse(chunk(content), chunk({}, finish), { ...usageChunk, usage }, '[DONE]').join('')
}

const contentFor = (body: JsonObject): [JsonObject, string] => {
  if (body.tools === undefined) return [{ content: 'They count.' }, 'stop']
  const last = objects(body.messages).findLast(({ role }) => role === 'tool')
  const done = Number(/^done (\d+)/.exec(text(last?.content))?.[1] ?? 0)
  if (done >= steps) return [{ content: `Counted to ${done}.` }, 'stop']
  const called = { name: 'count', arguments: `{"to":${done + 1}}` }
  return [
    { tool_calls: [{ index: 0, id: `c${done + 1}`, type: 'function', function: called }] },
    'tool_calls',
  ]
}

const reply = ({ body, text: sent }: { body: JsonObject; text: string }, { chance, pick }: Dice): Reply => {
  const tokens = Math.ceil(sent.length / 3.3)
  if (chance(0.05))
    return {
      status: pick([429, 500, 503]),
      headers: { 'retry-after-ms': '1' },
      body: { error: { message: 'busy' } },
    }
  if (tokens > window) {
    const { status, body: refusal } = pick(refusals)
    return { status, body: refusal }
  }
  const whole = answer(...contentFor(body), tokens)
  return { body: chance(0.05) ? whole.slice(0, whole.length / 2) : whole }
}

test.each(seeds)(
  'seed %i',
  async (seed) => {
    const random = dice(seed)
    const { url } = await loopback((request) => reply(request, random))
    const count = tool({
      name: 'count',
      description: 'Counts',
      onInterrupted: 'rerun',
      input: z.object({ to: z.number() }),
      execute: ({ to }) => `done ${to} ${'lorem '.repeat(20 + random.below(200))}`,
    })
    const agent = new Agent('openai:m', {
      baseUrl: url,
      apiKey: 'k',
      tools: [count],
      limits: { steps: 7 },
      atLimit: 'ask',
      retry: { maxRetries: 20, initialDelayMs: 1, maxDelayMs: 2, midStream: true },
    })
    let run = agent.start('Count as far as you can.')
    const states = new Set<string>()
    for (;;) {
      const ended = run.result.then(
        (result) => result,
        (error: Error) => error,
      )
      // So many chunks later it is stored, and moved.
      const left = random.below(12)
      const moved = new Promise<undefined>((resolve) => {
        let chunks = 0
        if (left === 0) setImmediate(resolve, undefined)
        run.on('chunk', () => {
          chunks += 1
          if (chunks === left) setImmediate(resolve, undefined)
        })
      })
      const found = await Promise.race([ended, moved])
      if (found instanceof Error) throw found
      if (found && !found.pendingApproval) {
        expect(found.finishReason).toBe('stop')
        expect(found.answer).toBe(`Counted to ${steps}.`)
        break
      }
      const stored = JSON.parse(JSON.stringify(run.snapshot()))
      states.add(JSON.stringify(stored.value))
      run.result.catch(() => {})
      run.abort('moved elsewhere')
      const decisions = found ? { limit: true } : {}
      run = agent.start({ snapshot: stored, decisions })
    }
    const { messages } = await run.result
    expect(validateHistory(messages)).toEqual([])
    expect(messages.flatMap(toolResultsOf).map(({ id }) => id)).toEqual(
      Array.from({ length: steps }, (_, index) => `c${index + 1}`),
    )
    expect(messages.some(({ metadata }) => metadata?.compaction)).toBe(true)
    expect(states).toContain('"AtLimit"')
  },
  600_000,
)
