/** A summary is an answer like any other: it may fail, be cut off, take too long or be stored halfway. */
import { describe, expect, test, vi } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { agentInternals } from '../../src/agent/AgentInternals.ts'
import { type ChatMessage, textOf, tool } from '../../src/index.ts'
import type { ChatModel, ModelSink } from '../../src/model/chatModel.ts'
import type { Delta } from '../../src/model/delta.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { long, overflow, ran, talk } from './compactedRuns.ts'
import { endOf, idle } from './watching.ts'

const busy: ScriptTurn = [{ error: { message: 'busy', retryable: true } }]
const text: Delta = { type: 'text', text: 'A summary.' }
const counted: Delta = { type: 'usage', usage: { inputTokens: 70, outputTokens: 7 } }
const finish = (reason: 'stop' | 'length'): Delta => ({ type: 'finish', reason, raw: reason })
/** Just these, and then the end of the stream. */
const only = (...deltas: Delta[]): ScriptTurn => [{ deltas }, { cut: true }]

describe('an answer is a summary', () => {
  test.each<[string, ScriptTurn]>([
    ['that ends in order', only(text, finish('stop'))],
    ['that is as long as it may be', only(text, finish('length'))],
    ['whose count comes last', only(text, finish('stop'), counted)],
  ])('%s', async (_, turn) => {
    const { result, requests } = await ran([overflow(), turn, 'Done.'])
    expect(result).toMatchObject({ answer: 'Done.' })
    expect(requests).toHaveLength(3)
  })

  test.each<[string, ScriptTurn, string]>([
    ['that is cut off', [{ text: 'A summ' }, { cut: true }], 'truncated'],
    ['that a filter stopped', [{ text: 'A summ' }, { finish: 'contentFilter' }], 'truncated'],
    ['that calls a tool', [{ text: 'Hm.' }, { finish: 'toolCalls' }], 'truncated'],
    ['of white space', [{ text: ' \n ' }], 'no_summary'],
    [
      'with an error in it',
      [
        {
          deltas: [
            text,
            { type: 'error', error: { name: 'ModelError', message: '', code: 'oops', retryable: true } },
          ],
        },
      ],
      'oops',
    ],
  ])('but not one %s: it is asked for again, then the run fails', async (_, turn, code) => {
    expect((await ran([overflow(), turn, 'A summary.', 'Done.'])).result).toMatchObject({ answer: 'Done.' })
    const { result, requests, compactions } = await ran([overflow(), turn, turn, 'never'])
    expect(result).toMatchObject({ name: 'ModelError', code })
    expect(requests).toHaveLength(3)
    expect(compactions).toEqual([])
  })

  test('that is not counted costs nothing that is known', async () => {
    const price = vi.fn(() => 1)
    const { result } = await ran([overflow(), 'A summary.', 'Done.'], { price })
    expect(result).toMatchObject({ answer: 'Done.' })
    expect(result).not.toHaveProperty('usage')
    expect(price).not.toHaveBeenCalled()
  })

  test('that costs what its own model costs', async () => {
    const writer = scriptedModel([[{ text: 'A summary.' }, { usage: { inputTokens: 70 } }]], {
      model: 'writer',
    })
    const price: AgentOptions['price'] = ({ model }, { inputTokens = 0 }) =>
      model === 'writer' ? inputTokens * 2 : 1000
    const { result } = await ran([overflow(), 'Done.'], { price, compaction: { model: writer } })
    expect(result).toMatchObject({ answer: 'Done.', usage: { inputTokens: 70, cost: 140 } })
  })
})

describe('a model of your own', () => {
  const asks = (summarise: (sink: ModelSink, nth: number) => () => void) => {
    const scripted = scriptedModel([overflow(), 'Done.'])
    let nth = 0
    const stream: ChatModel['stream'] = (_, sink) => {
      nth += 1
      return summarise(sink, nth)
    }
    const writer: ChatModel = { ...scriptedModel([]), stream }
    const agent = new Agent(scripted, {
      retry: { maxRetries: 1, initialDelayMs: 1 },
      compaction: { model: writer },
    })
    return { run: agent.start('Go on.', { history: talk }), asked: () => nth }
  }
  const nothing = () => {}
  const summary = (sink: ModelSink) => {
    sink.deltas([text, finish('stop')])
    sink.end()
    return nothing
  }

  test('may report the same failure several times: it counts once', async () => {
    const { run, asked } = asks((sink, nth) => {
      if (nth > 1) return summary(sink)
      const error = { name: 'ModelError' as const, message: 'busy', retryable: true }
      sink.deltas([{ type: 'error', error }])
      sink.fail(error)
      sink.end()
      return nothing
    })
    expect(await run.result).toMatchObject({ answer: 'Done.' })
    expect(asked()).toBe(2)
  })

  test('may throw: the run fails with what it threw', async () => {
    const { run } = asks(() => {
      throw new Error('There is no cable.')
    })
    await expect(run.result).rejects.toThrow('There is no cable.')
  })
})

describe('a summary that fails', () => {
  test('has its own retries', async () => {
    const { result } = await ran([busy, overflow(), busy, 'A summary.', 'Done.'])
    expect(result).toMatchObject({ answer: 'Done.' })
  })

  const timed = (turns: ScriptTurn[], options: AgentOptions) => {
    const clock = new SimulatedClock()
    const writer = scriptedModel(turns, { clock })
    const agent = new Agent(scriptedModel([overflow(), 'Done.'], { clock }), {
      clock,
      compaction: { model: writer },
      ...options,
    })
    const actor = agent.actor({ prompt: 'Go on.', history: talk })
    actor.start()
    const pass = async (ms: number) => {
      clock.increment(ms)
      await idle()
    }
    return { actor, writer, pass }
  }

  test('is asked for again after the wait of a retry, and not before', async () => {
    const retry = { maxRetries: 1, initialDelayMs: 1000 }
    const { actor, writer, pass } = timed(
      [[{ error: { retryable: true, retryAfterMs: 5000 } }], 'A summary.'],
      {
        retry,
      },
    )
    await idle()
    await pass(4999)
    expect(writer.requests).toHaveLength(1)
    await pass(1)
    expect(writer.requests).toHaveLength(2)
    expect(await endOf(actor)).toMatchObject({ answer: 'Done.' })
  })

  test('is not asked for again once the run is aborted', async () => {
    const { actor, writer, pass } = timed([[{ error: { retryable: true, retryAfterMs: 5000 } }], 'never'], {})
    await idle()
    actor.send({ type: 'abort' })
    await pass(10_000)
    expect(writer.requests).toHaveLength(1)
    expect(actor.getSnapshot()).toMatchObject({ status: 'done', output: { status: 'aborted' } })
  })

  test('is closed if the run is aborted while it is written, also after a retry', async () => {
    const turns: ScriptTurn[] = [[{ error: { retryable: true, retryAfterMs: 5000 } }], [{ hang: true }]]
    const { actor, writer, pass } = timed(turns, {})
    await idle()
    await pass(5000)
    actor.send({ type: 'abort' })
    await idle()
    expect(writer.closed).toBe(1)
  })

  test.each<[string, ScriptTurn, number, string]>([
    ['begins too late', [{ hang: true }], 100, 'No answer began within 100 ms (timeouts.firstChunkMs).'],
    ['stalls', [{ text: 'A summ' }, { hang: true }], 300, 'The answer stalled for 300 ms (timeouts.idleMs).'],
  ])('because it %s is a failure of the run', async (_, turn, ms, message) => {
    const timeouts = { firstChunkMs: 100, idleMs: 300 }
    const { actor, writer, pass } = timed([turn], { timeouts, retry: { maxRetries: 0 } })
    await idle()
    await pass(ms - 1)
    expect(actor.getSnapshot().status).toBe('active')
    await pass(1)
    expect(await endOf(actor)).toMatchObject({ status: 'failed', error: { name: 'TimeoutError', message } })
    expect(writer.closed).toBe(1)
  })
})

describe('a run that is stored', () => {
  const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'yes' })
  const gone: ScriptTurn = [{ error: { message: 'gone', retryable: false } }]
  const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'ask' } }]

  test('while a summary is written asks for it again, as its agent does now', async () => {
    const first = new Agent(scriptedModel([overflow(), [{ hang: true }]]), {
      compaction: { instructions: 'Old.' },
    })
    const run = first.start('Go on.', { history: talk })
    run.result.catch(() => {})
    await idle()
    expect(run.state).toBe('Compacting')
    const snapshot = JSON.parse(JSON.stringify(run.snapshot()))
    run.abort()
    const model = scriptedModel(['A summary.', 'Done.'])
    const second = new Agent(model, { compaction: { instructions: 'New.' } })
    expect(await second.start({ snapshot }).result).toMatchObject({ answer: 'Done.' })
    const [prompt = { parts: [] }] = model.requests[0]?.messages ?? []
    expect(textOf(prompt as ChatMessage)).toMatch(/^New\.\n\n<conversation>\nUser: Question 0/)
  })

  test.each<[string, NonNullable<AgentOptions['compaction']>, string[]]>([
    ['that needs a summary', { window: 1000 }, ['A summary.', 'Done.']],
    ['whose room is watched', {}, ['Done.']],
    ['that is never compacted', false, ['Done.']],
  ])('and %s continues if the model it had come to is no longer there', async (_, compaction, turns) => {
    const fallback = [scriptedModel([call])]
    const first = new Agent(scriptedModel([gone]), { tools: [ask], fallback })
    const { pendingApproval } = await first.send('Go on.', { history: talk })
    const pending = JSON.parse(JSON.stringify(pendingApproval))
    const second = new Agent(scriptedModel(turns), { tools: [ask], compaction })
    expect(await second.resume(pending, { a: true })).toMatchObject({ answer: 'Done.' })
  })
})

test('the host of a run sees which step a summary belongs to, and which half it is', async () => {
  const names: string[] = []
  const agent = new Agent(scriptedModel([overflow(), overflow(), 'A summary.', 'Done.']))
  const actor = agentInternals(agent).actor(
    { input: { prompt: long, id: 'job', history: talk } },
    {},
    {
      host: {
        turn: (name, request, sink) => {
          names.push(name)
          return request(sink)
        },
      },
    },
  )
  actor.start()
  await endOf(actor)
  expect(names.filter((name) => name.includes('summary'))).toEqual(['job/summary 0.0', 'job/summary 0.1'])
})

test('a summary that fails for good is not asked for again', async () => {
  const gone: ScriptTurn = [{ error: { message: 'gone', retryable: false } }]
  const { result, requests } = await ran([overflow(), gone, 'never'])
  expect(result).toMatchObject({ message: 'gone' })
  expect(requests).toHaveLength(2)
})
