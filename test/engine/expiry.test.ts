/** Calls that nothing is decided on in time, and calls that sleep. */
import { describe, expect, test } from 'vitest'
import { createMachine, SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { ConfigurationError, TimeoutError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import { type OnExpired, tool } from '../../src/tools/tool.ts'
import { idle } from './watching.ts'

const hourMs = 3_600_000

const setup = (turn: ScriptTurn, options: AgentOptions) => {
  const clock = new SimulatedClock()
  const model = scriptedModel([turn, 'done'], { clock })
  const agent = new Agent(model, { clock, ...options })
  const pass = async (ms: number) => {
    clock.increment(ms)
    await idle()
  }
  return { clock, model, agent, pass }
}

const guarded = (onExpired?: OnExpired, expiresMs = hourMs, name = 'guarded') => {
  const ran: unknown[] = []
  const made = tool({
    name,
    description: 'Asks first',
    needsApproval: true,
    expiresMs,
    ...(onExpired && { onExpired }),
    execute: () => {
      ran.push(name)
      return 'ran'
    },
  })
  return { ran, made }
}

const call = (name: string, id = name, args = {}) => ({ toolCall: { id, name, arguments: args } })

const resultsOf = (messages: readonly Parameters<typeof toolResultsOf>[0][]) =>
  messages.flatMap(toolResultsOf).map(({ id, result }) => `${id}: ${result}`)

describe('a call that needs approval', () => {
  test('is rejected exactly when it expires, and the model learns why', async () => {
    const { ran, made } = guarded()
    const { agent, pass } = setup([call('guarded')], { tools: [made] })
    const run = agent.start('Go')
    await idle()
    expect(run.pending).toMatchObject([{ id: 'guarded', kind: 'approval', expiresAt: hourMs }])
    await pass(hourMs - 1)
    expect(run.state).toBe('AwaitingApproval')
    await pass(1)
    const { output, messages } = await run.result
    expect(output).toContain('done')
    expect(resultsOf(messages)).toEqual([
      'guarded: {"error":"No person decided on this call in time; it was not run."}',
    ])
    expect(validateHistory(messages)).toEqual([])
    expect(ran).toEqual([])
  })

  test('runs when it expires, if its tool says so', async () => {
    const { ran, made } = guarded('approve')
    const { agent, pass } = setup([call('guarded')], { tools: [made] })
    const run = agent.start('Go')
    await idle()
    await pass(hourMs)
    expect(resultsOf((await run.result).messages)).toEqual(['guarded: ran'])
    expect(ran).toEqual(['guarded'])
  })

  test('ends the run when it expires, if its tool says so', async () => {
    const { ran, made } = guarded('fail')
    const { agent, pass } = setup([call('guarded')], { tools: [made] })
    const run = agent.start('Go')
    await idle()
    await pass(hourMs)
    const error = await run.result.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toMatchObject({ message: 'No decision on "guarded" came in time (expiresMs).' })
    expect(run.state).toBe('Failed')
    expect(ran).toEqual([])
  })

  test('is never approved by the clock where a policy may be what asks', async () => {
    const { ran, made } = guarded('approve')
    const policy = createMachine({ initial: 'On', states: { On: { on: { '*': 'On' } } } })
    const { agent, pass } = setup([call('guarded')], { tools: [made], policy })
    const run = agent.start('Go')
    await idle()
    await pass(hourMs)
    expect(resultsOf((await run.result).messages)[0]).toContain('No person decided on this call in time')
    expect(ran).toEqual([])
  })

  test('expires by itself: others wait on, and one that was decided on is left alone', async () => {
    const tools = [
      guarded('reject', 10, 'first'),
      guarded('reject', 20, 'second'),
      guarded('reject', 30, 'third'),
    ]
    const { agent, pass } = setup(
      tools.map(({ made }) => call(made.name)),
      { tools: tools.map(({ made }) => made) },
    )
    const run = agent.start('Go')
    await idle()
    run.approve('second')
    await pass(10)
    expect(run.pending.map(({ id }) => id)).toEqual(['third'])
    await pass(10)
    expect(run.pending.map(({ id }) => id)).toEqual(['third'])
    await pass(10)
    expect(resultsOf((await run.result).messages)).toEqual([
      'first: {"error":"No person decided on this call in time; it was not run."}',
      'second: ran',
      'third: {"error":"No person decided on this call in time; it was not run."}',
    ])
  })

  test('does not use the time of the run, whose deadline is paused', async () => {
    const { made } = guarded('approve')
    const { agent, pass } = setup([call('guarded')], { tools: [made], timeouts: { totalMs: 1000 } })
    const run = agent.start('Go')
    await idle()
    await pass(hourMs)
    expect((await run.result).output).toContain('done')
  })

  test('expires although onApproval is still asked; its late answer does not count', async () => {
    const { ran, made } = guarded()
    let answer = (_: boolean) => {}
    const onApproval = () => new Promise<boolean>((resolve) => (answer = resolve))
    const { agent, pass } = setup([call('guarded')], { tools: [made], onApproval })
    const run = agent.start('Go')
    await idle()
    await pass(hourMs)
    answer(true)
    expect((await run.result).output).toContain('done')
    expect(ran).toEqual([])
  })

  test('keeps its moment when it is stored and restored, and expires at once if that is over', async () => {
    const { made } = guarded()
    const { clock, agent } = setup([call('guarded')], { tools: [made] })
    const { pendingApproval } = await agent.send('Go')
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    clock.increment(hourMs - 1)
    const again = await agent.resume(stored, {})
    expect(again).toMatchObject({ status: 'waiting', pendingApproval: { calls: [{ expiresAt: hourMs }] } })
    clock.increment(1)
    const rest = agent.resume(stored, {})
    await idle()
    clock.increment(0)
    expect(await rest).toMatchObject({ status: 'complete' })
  })

  test('of a sub-agent expires inside it, and the agent above continues', async () => {
    const { made } = guarded()
    const clock = new SimulatedClock()
    const inner = new Agent(scriptedModel([[call('guarded')], 'inner done']), { clock, tools: [made] })
    const { agent } = setup([call('ask', 'ask', { prompt: 'Do it' })], {
      clock,
      tools: [inner.asTool({ name: 'ask', description: 'Does it' })],
    })
    const run = agent.start('Go')
    await idle()
    expect(run.pending).toMatchObject([{ id: 'ask/guarded', expiresAt: hourMs }])
    clock.increment(hourMs)
    await idle()
    expect(resultsOf((await run.result).messages)).toEqual(['ask: inner done'])
  })
})

describe('a call of an external tool', () => {
  const outside = (onExpired?: 'reject' | 'fail') =>
    tool({ name: 'outside', description: 'Elsewhere', expiresMs: 50, ...(onExpired && { onExpired }) })

  test('gets an error as its result when no answer came in time', async () => {
    const { agent, pass } = setup([call('outside')], { tools: [outside()] })
    const run = agent.start('Go')
    await idle()
    await pass(50)
    expect(resultsOf((await run.result).messages)).toEqual([
      'outside: {"error":"No answer to this call came in time."}',
    ])
  })

  test('ends the run, if its tool says so', async () => {
    const { agent, pass } = setup([call('outside')], { tools: [outside('fail')] })
    const run = agent.start('Go')
    await idle()
    await pass(50)
    await expect(run.result).rejects.toThrow(TimeoutError)
  })

  test('cannot be approved by the clock, nor expire without a time', () => {
    const options = { name: 'outside', description: 'Elsewhere' }
    expect(() => tool({ ...options, expiresMs: 5, onExpired: 'approve' })).toThrow(ConfigurationError)
    expect(() => tool({ ...options, onExpired: 'reject' })).toThrow(/needs expiresMs/)
  })
})

describe('sleepTool', () => {
  const sleeping = async (seconds: unknown, options: AgentOptions = {}) => {
    const made = setup([call('sleep', 's', { seconds })], {
      tools: [sleepTool({ maxMs: hourMs })],
      ...options,
    })
    const run = made.agent.start('Go')
    await idle()
    return { ...made, run }
  }

  test('lets the model sleep, and nothing is asked meanwhile', async () => {
    const { run, pass } = await sleeping(60)
    expect(run.state).toBe('AwaitingTools')
    expect(run.pending).toEqual([])
    await pass(59_999)
    expect(run.state).toBe('AwaitingTools')
    await pass(1)
    const { status, messages } = await run.result
    expect(status).toBe('complete')
    expect(resultsOf(messages)).toEqual(['s: Slept for 60 seconds. It is 1970-01-01T00:01:00.000Z.'])
  })

  test('is awaited by send, too', async () => {
    const { agent, pass } = setup([call('sleep', 's', { seconds: 1 })], { tools: [sleepTool()] })
    const result = agent.send('Go')
    await idle()
    await pass(1000)
    expect(await result).toMatchObject({ status: 'complete', finishReason: 'stop' })
  })

  test('ends a sleep that is too long at its limit', async () => {
    const { run, pass } = await sleeping(1e12)
    await pass(hourMs)
    expect(resultsOf((await run.result).messages)[0]).toContain('Slept for 3600 seconds.')
  })

  test.each([[-5], ['soon'], [undefined]])('does not take %s for a time', async (seconds) => {
    const { run } = await sleeping(seconds)
    expect(resultsOf((await run.result).messages)[0]).toContain('seconds')
  })

  test('ends a sleep early when the run is woken, with a message', async () => {
    const { made, model } = await (async () => {
      const { agent, ...rest } = setup([call('sleep', 's', { seconds: 60 })], { tools: [sleepTool()] })
      const actor = agent.actor({ prompt: 'Go' })
      actor.start()
      await idle()
      await rest.pass(20_000)
      actor.send({ type: 'wake', message: 'The build is green.' })
      await idle()
      return { made: actor, ...rest }
    })()
    expect(made.getSnapshot().output?.status).toBe('complete')
    expect(model.requests[1]?.messages.at(-1)?.parts).toMatchObject([
      { result: 'Woken after 20 of 60 seconds. It is 1970-01-01T00:00:20.000Z.' },
      { text: 'The build is green.' },
    ])
  })

  test('survives its process: a restored run continues at the same moment', async () => {
    const { run, clock, agent } = await sleeping(60)
    const snapshot = run.snapshot()
    run.abort()
    await run.result.catch(() => {})
    clock.increment(59_999)
    const again = agent.start({ snapshot })
    await idle()
    expect(again.state).toBe('AwaitingTools')
    clock.increment(1)
    await idle()
    expect((await again.result).status).toBe('complete')
  })

  test('does not use the time of a sub-agent that sleeps', async () => {
    const clock = new SimulatedClock()
    const inner = new Agent(scriptedModel([[call('sleep', 's', { seconds: 60 })], 'rested']), {
      clock,
      tools: [sleepTool()],
    })
    const { agent } = setup([call('ask', 'ask', { prompt: 'Wait' })], {
      clock,
      tools: [inner.asTool({ name: 'ask', description: 'Waits', timeoutMs: 1000 })],
    })
    const run = agent.start('Go')
    await idle()
    clock.increment(60_000)
    await idle()
    expect(resultsOf((await run.result).messages)).toEqual(['ask: rested'])
  })
})
