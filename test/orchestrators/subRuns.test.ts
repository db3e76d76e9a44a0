/** The run of a sub-agent: its name, its time, its end, and what it does where no run is above it. */
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { type AnyActorRef, type InspectionEvent, SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type Tool, type ToolContext, tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'

const call = (id: string, name: string, args = {}) => ({ toolCall: { id, name, arguments: args } })
const risky = tool({ name: 'risky', description: 'Asks', needsApproval: true, execute: () => 'ran' })
const sign = tool({ name: 'sign', description: 'Answered elsewhere', needsApproval: true })

/** A boss that asks an expert; `ends` are the states in which the runs of the expert ended. */
const team = (inner: ScriptTurn[], own: AgentOptions = {}, options: AgentOptions = {}, timeoutMs = 30) => {
  const clock = new SimulatedClock()
  const expertModel = scriptedModel(inner)
  const expert = new Agent(expertModel, { name: 'expert', tools: [risky, sign], ...own })
  const seen = new Set<string>()
  const last = new Map<string, unknown>()
  const inspect = (event: InspectionEvent) => {
    const actor = event.actorRef as AnyActorRef
    if (event.type === '@xstate.actor') seen.add(actor.id)
    if (event.type === '@xstate.snapshot' && actor.id === 'expert')
      last.set('expert', 'value' in event.snapshot ? event.snapshot.value : event.snapshot.status)
  }
  const boss = new Agent(scriptedModel([[call('a', 'ask', { prompt: 'Do it.' })], 'All done.']), {
    tools: [expert.asTool({ name: 'ask', description: 'Knows', timeoutMs })],
    clock,
    inspect,
    ...options,
  })
  return { boss, clock, expertModel, seen, endOfExpert: () => last.get('expert') }
}

const resultsOf = async (run: ReturnType<Agent['start']>) =>
  (await run.result).messages.flatMap(toolResultsOf)
const late = (ms: number) =>
  `{"error":"The tool did not finish within ${ms} ms; whether it took effect is unknown."}`

describe('the run of a sub-agent', () => {
  test('has the name of its agent', async () => {
    const { boss, seen } = team(['Expert done.'])
    await boss.send('Go')
    expect([...seen]).toContain('expert')
  })

  test('ends at its timeout, not before; it is aborted then, and the model learns it', async () => {
    const { boss, clock, expertModel, endOfExpert } = team([[{ hang: true }]])
    const run = boss.start('Go')
    await idle()
    clock.increment(29)
    await idle()
    expect(expertModel.closed).toBe(0)
    clock.increment(1)
    expect(await resultsOf(run)).toMatchObject([{ id: 'a', isError: true, result: late(30) }])
    expect(expertModel.closed).toBe(1)
    expect(endOfExpert()).toBe('Aborted')
  })

  test('has its whole time again after each wait, and none while it waits', async () => {
    const { boss, clock } = team([[call('x', 'risky')], [{ hang: true }]])
    const run = boss.start('Go')
    await run.result
    clock.increment(1000)
    run.approve('a/x')
    await idle()
    clock.increment(29)
    await idle()
    expect(run.state).toBe('ToolExecution')
    clock.increment(1)
    expect(await resultsOf(run)).toMatchObject([{ result: late(30) }])
  })

  test.each([
    ['never', Number.POSITIVE_INFINITY, 'ToolExecution'],
    ['after the longest time of a timer', 1e12, 'done'],
  ])('ends %s if its timeout is beyond that', async (_, timeoutMs, expected) => {
    const { boss, clock } = team([[{ hang: true }]], {}, {}, timeoutMs)
    const run = boss.start('Go')
    let isDone = false
    run.result.then(
      () => (isDone = true),
      () => {},
    )
    await idle()
    clock.increment(2 ** 31 - 1)
    await idle(5)
    expect(isDone ? 'done' : run.state).toBe(expected)
    run.abort()
  })

  test('leaves no timer behind', async () => {
    const { boss, clock } = team(['Expert done.'])
    const run = boss.start('Go')
    expect(await resultsOf(run)).toMatchObject([{ result: 'Expert done.' }])
    expect(Reflect.get(clock, 'timeouts')).toEqual(new Map())
  })

  test('is aborted, not only stopped, with the run that called it', async () => {
    const { boss, expertModel, endOfExpert } = team([[{ text: 'Well' }, { hang: true }]])
    const run = boss.start('Go')
    await idle(5)
    run.abort()
    await expect(run.result).rejects.toMatchObject({ name: 'AbortedError' })
    expect(expertModel.closed).toBe(1)
    expect(endOfExpert()).toBe('Aborted')
  })

  test('asks for an answer after the approval of the same call', async () => {
    const { boss } = team([[call('x', 'sign')], 'Expert done.'])
    const run = boss.start('Go')
    const received: string[] = []
    run.on('*', ({ type }) => {
      if (type === 'tool.approval' || type === 'tool.external') received.push(type)
    })
    await run.result
    run.approve('a/x')
    expect((await run.result).pendingApproval?.calls).toMatchObject([{ id: 'a/x', kind: 'answer' }])
    run.answer('a/x', 'signed')
    expect((await run.result).output).toBe('All done.')
    expect(received).toEqual(['tool.approval', 'tool.external'])
  })
})

describe('a sub-agent whose tool is called without a run', () => {
  const contextOf = (signal: AbortSignal): ToolContext => ({
    callId: 'c',
    signal,
    context: undefined,
    attempt: 1,
    idempotencyKey: 'k',
    report: () => {},
    addUsage: () => {},
    self: undefined,
  })
  const alone = (turns: ScriptTurn[]) => {
    const model = scriptedModel(turns)
    const expert = new Agent(model, { tools: [risky, sign] })
    const asTool: Tool = expert.asTool({ name: 'ask', description: 'Knows' })
    const { signal } = new AbortController()
    const execute = (given = signal) => asTool.execute?.({ prompt: 'Do it.' }, contextOf(given))
    return { model, execute, signal }
  }

  test('answers, and leaves no listener on the signal', async () => {
    const { execute, signal } = alone(['Done.'])
    expect(await execute()).toBe('Done.')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('cannot ask a person: the error says for what', async () => {
    const { execute, signal } = alone([[call('x', 'risky'), call('y', 'sign')]])
    await expect(execute()).rejects.toThrow(
      'The agent needs a decision on risky, sign, and has no onApproval.',
    )
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('does not begin after an abort', async () => {
    const { execute, model } = alone(['Done.'])
    await expect(execute(AbortSignal.abort())).rejects.toThrow(
      'The run was aborted before the agent started.',
    )
    expect(model.requests).toEqual([])
  })
})
