import { describe, expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { TimeoutError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { gated } from './sampleTools.ts'
import { endOf, idle, stateName, watch } from './watching.ts'

const once = { maxRetries: 0 }

const start = (turns: ScriptTurn[], options: AgentOptions) => {
  const clock = new SimulatedClock()
  const model = scriptedModel(turns, { clock })
  const actor = new Agent(model, { clock, retry: once, ...options }).actor({ prompt: 'Go' })
  const watched = watch(actor)
  actor.start()
  const pass = async (ms: number, times = 1) => {
    for (let time = 0; time < times; time += 1) {
      clock.increment(ms)
      await idle()
    }
  }
  const isRunning = () => actor.getSnapshot().status === 'active'
  return { clock, model, actor, watched, pass, isRunning }
}

describe('timeouts.firstChunkMs', () => {
  const timeouts = { firstChunkMs: 100 }

  test('ends a request that nothing answers, exactly then, and closes it', async () => {
    const { actor, model, pass, isRunning } = start([[{ hang: true }]], { timeouts })
    await idle()
    await pass(99)
    expect(isRunning()).toBe(true)
    await pass(1)
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      error: { name: 'TimeoutError', message: 'No answer began within 100 ms (timeouts.firstChunkMs).' },
    })
    expect(model.closed).toBe(1)
  })

  test.each([
    ['keep-alives', []],
    ['counts', [{ type: 'usage' as const, usage: { inputTokens: 1 } }]],
    ['the name of the answer', [{ type: 'response' as const, id: 'r' }]],
  ])('is not put off by %s that come for ever', async (_, deltas) => {
    const alive = Array.from({ length: 9 }, () => [{ delayMs: 30 }, { deltas }] as const).flat()
    const { actor, model, pass, isRunning } = start([[...alive, { text: 'late' }]], { timeouts })
    await idle()
    await pass(30, 3)
    expect(isRunning()).toBe(true)
    await pass(10)
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      error: { message: 'No answer began within 100 ms (timeouts.firstChunkMs).' },
    })
    expect(model.closed).toBe(1)
  })

  test('is over with the first content, also where nothing of it is shown', async () => {
    const work = { deltas: [{ type: 'progress' as const }] }
    const { pass, isRunning, actor } = start([[{ delayMs: 99 }, work, { hang: true }]], { timeouts })
    await idle()
    await pass(99)
    await pass(1000)
    expect(isRunning()).toBe(true)
    actor.stop()
  })

  test('counts for each request of its own', async () => {
    const slow: ScriptTurn = [{ delayMs: 80 }, { toolCall: { id: 'a', name: 'none' } }]
    const { actor, pass } = start([slow, [{ delayMs: 80 }, { text: 'ok' }]], { timeouts })
    await idle()
    await pass(80, 2)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
  })

  test('is retried like any other failure before the first chunk', async () => {
    const { actor, model, pass } = start([[{ hang: true }], 'ok'], { timeouts, retry: { maxRetries: 1 } })
    await idle()
    await pass(100)
    await pass(60_000)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(model.closed).toBe(1)
  })

  test('closes the request before it waits for the retry, and gets nothing more of it', async () => {
    const late: ScriptTurn = [{ delayMs: 150 }, { text: 'too late' }]
    const { actor, model, pass, watched } = start([late, 'ok'], { timeouts, retry: { maxRetries: 1 } })
    await idle()
    await pass(100)
    expect(stateName(actor.getSnapshot())).toBe('Accumulating.BackingOff')
    expect(model.closed).toBe(1)
    expect(Object.keys(actor.getSnapshot().children)).toEqual(['timer'])
    await pass(50)
    await pass(60_000)
    await endOf(actor)
    expect(watched.chunks.map(({ output }) => output).join('')).toBe('ok')
  })

  test('of Infinity is none', async () => {
    const { pass, isRunning, actor } = start([[{ hang: true }]], {
      timeouts: { firstChunkMs: Number.POSITIVE_INFINITY },
    })
    await idle()
    await pass(1e12)
    expect(isRunning()).toBe(true)
    actor.stop()
  })

  test('throws a TimeoutError with the partial result from send', async () => {
    const clock = new SimulatedClock()
    const agent = new Agent(scriptedModel([[{ hang: true }]]), { clock, retry: once, timeouts })
    const sent = expect(agent.send('Go')).rejects.toBeInstanceOf(TimeoutError)
    await idle()
    clock.increment(100)
    await sent
  })
})

describe('timeouts.idleMs', () => {
  const timeouts = { idleMs: 100 }
  const read = [{ delayMs: 60 }, { text: '.' }] as const

  test('is armed again by every read, so that a slow but flowing answer runs on', async () => {
    const reads = Array.from({ length: 10 }, () => read).flat()
    const { actor, pass } = start([[{ text: '.' }, ...reads]], { timeouts })
    await idle()
    await pass(20, 30)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: '.'.repeat(11) })
  })

  test('ends an answer that stalls, that long after its last read, and keeps the text', async () => {
    const { actor, model, pass, isRunning } = start([[{ text: '.' }, ...read, { hang: true }]], { timeouts })
    await idle()
    await pass(60)
    await pass(99)
    expect(isRunning()).toBe(true)
    await pass(1)
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      output: '..',
      error: { name: 'TimeoutError', message: 'The answer stalled for 100 ms (timeouts.idleMs).' },
    })
    expect(model.closed).toBe(1)
  })

  test('is not armed again by keep-alives', async () => {
    const alive = Array.from({ length: 5 }, () => [{ delayMs: 40 }, { deltas: [] }] as const).flat()
    const { actor, pass, isRunning } = start([[{ text: 'a' }, ...alive, { text: 'b' }]], { timeouts })
    await idle()
    await pass(40, 2)
    expect(isRunning()).toBe(true)
    await pass(20)
    expect(await endOf(actor)).toMatchObject({
      status: 'failed',
      output: 'a',
      error: { message: 'The answer stalled for 100 ms (timeouts.idleMs).' },
    })
  })

  test('is armed again by work that is not shown', async () => {
    const work = { deltas: [{ type: 'progress' as const }] }
    const busy = Array.from({ length: 5 }, () => [{ delayMs: 90 }, work] as const).flat()
    const { actor, pass } = start([[{ text: 'a' }, ...busy, { text: 'b' }]], { timeouts })
    await idle()
    await pass(90, 5)
    expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'ab' })
  })

  test('is not retried once something was shown', async () => {
    const { actor, model, pass } = start([[{ text: '.' }, { hang: true }], 'never'], {
      timeouts,
      retry: { maxRetries: 2 },
    })
    await idle()
    await pass(100)
    expect(await endOf(actor)).toMatchObject({ status: 'failed' })
    expect(model.requests).toHaveLength(1)
  })
})

describe('timeouts.totalMs', () => {
  const timeouts = { totalMs: 100 }
  const total = {
    status: 'failed',
    error: { name: 'TimeoutError', message: 'The run took longer than 100 ms (timeouts.totalMs).' },
  }

  test('ends a run before its first byte', async () => {
    const { actor, pass, isRunning } = start([[{ hang: true }]], { timeouts })
    await idle()
    await pass(99)
    expect(isRunning()).toBe(true)
    await pass(1)
    expect(await endOf(actor)).toMatchObject(total)
  })

  test('ends a run that flows steadily', async () => {
    const reads = Array.from({ length: 50 }, () => [{ delayMs: 10 }, { text: '.' }] as const).flat()
    const { actor, pass, model } = start([reads], { timeouts })
    await idle()
    await pass(10, 9)
    expect(actor.getSnapshot().status).toBe('active')
    await pass(10)
    expect(await endOf(actor)).toMatchObject(total)
    expect(model.closed).toBe(1)
  })

  test('counts the time of tools, fires their signals, and every call has a result', async () => {
    const slow = gated()
    const { actor, pass } = start([[{ toolCall: { id: 'a', name: 'slow' } }]], {
      timeouts,
      tools: [slow.tool],
    })
    await idle()
    await pass(100)
    const output = await endOf(actor)
    expect(output).toMatchObject(total)
    expect(slow.signals.get('a')?.aborted).toBe(true)
    expect(validateHistory(output.messages)).toEqual([])
    expect(output.messages.flatMap(toolResultsOf)).toMatchObject([{ isError: true }])
  })

  test('counts the time of a back-off, and is not retried', async () => {
    const failing: ScriptTurn = [{ error: { retryable: true, retryAfterMs: 5000 } }]
    const { actor, pass, model, isRunning } = start([failing, 'never'], {
      timeouts,
      retry: { maxRetries: 5 },
    })
    await idle()
    await pass(99)
    expect(isRunning()).toBe(true)
    await pass(1)
    expect(await endOf(actor)).toMatchObject(total)
    expect(model.requests).toHaveLength(1)
  })

  test('does not count the time a person takes to approve', async () => {
    const ask = tool({ name: 'ask', description: 'Asks', needsApproval: true, execute: () => 'yes' })
    const turns: ScriptTurn[] = [[{ delayMs: 60 }, { toolCall: { id: 'a', name: 'ask' } }], [{ hang: true }]]
    const { actor, pass, isRunning } = start(turns, { timeouts, tools: [ask] })
    await idle()
    await pass(60)
    expect(stateName(actor.getSnapshot())).toBe('AwaitingApproval')
    await pass(1e9)
    actor.send({ type: 'tool.approve', callId: 'a' })
    await idle()
    await pass(39)
    expect(isRunning()).toBe(true)
    await pass(1)
    expect(await endOf(actor)).toMatchObject(total)
  })

  test('has one final chunk and leaves no timer behind', async () => {
    const { actor, pass, watched, clock } = start([[{ hang: true }]], { timeouts })
    await idle()
    await pass(100)
    await endOf(actor)
    clock.increment(1e9)
    await idle()
    expect(watched.finals).toHaveLength(1)
  })
})
