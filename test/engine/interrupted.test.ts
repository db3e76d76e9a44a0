/** A call that was running when its process ended is in doubt: its tool decides what happens to it. */
import { describe, expect, test } from 'vitest'
import { createActor } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type OnInterrupted, type ToolContext, tool } from '../../src/tools/tool.ts'
import { createToolExecutor } from '../../src/tools/toolExecutor.ts'
import { endOf, idle } from './watching.ts'

type Seen = Pick<ToolContext, 'callId' | 'attempt' | 'idempotencyKey'>

const world = (
  turns: ScriptTurn[],
  fates: Record<string, OnInterrupted | undefined>,
  options: AgentOptions,
) => {
  const seen: Seen[] = []
  const tools = Object.entries(fates).map(([name, onInterrupted]) =>
    tool({
      name,
      description: name,
      ...(onInterrupted && { onInterrupted }),
      execute: (_, { callId, attempt, idempotencyKey }) => {
        seen.push({ callId, attempt, idempotencyKey })
        return turns.length > 1 ? new Promise(() => {}) : `ran ${callId}`
      },
    }),
  )
  return { seen, agent: new Agent(scriptedModel(turns), { tools, ...options }) }
}

/** A run that was stored while its calls ran, and what its tools had seen; then the agent that goes on. */
const cut = async (fates: Record<string, OnInterrupted | undefined>, options: AgentOptions = {}) => {
  const calls: ScriptTurn = Object.keys(fates).map((name) => ({ toolCall: { id: `c-${name}`, name } }))
  const before = world([calls, 'never'], fates, options)
  const run = before.agent.start('Go', { id: 'job' })
  run.result.catch(() => {})
  await idle()
  const snapshot = JSON.parse(JSON.stringify(run.snapshot()))
  run.abort()
  const after = world(['done'], fates, options)
  return { snapshot, before: before.seen, after: after.seen, agent: after.agent }
}

const resultsOf = ({ messages }: { messages: readonly Parameters<typeof toolResultsOf>[0][] }) =>
  Object.fromEntries(messages.flatMap(toolResultsOf).map(({ id, result }) => [id, result]))

const parallel: AgentOptions = { toolExecution: 'parallel' }

describe('a call that was running when its run was stored', () => {
  test('does not run again, and the model learns that its effect is unknown', async () => {
    const { snapshot, before, after, agent } = await cut({ pay: undefined })
    const result = await agent.start({ snapshot }).result
    expect(before).toHaveLength(1)
    expect(after).toEqual([])
    expect(resultsOf(result)['c-pay']).toMatch(/whether it took effect is unknown/)
    expect(result.output).toBe('done')
  })

  test('runs again if its tool says so, with the same key and the next attempt', async () => {
    const { snapshot, before, after, agent } = await cut({ pay: 'rerun' })
    await agent.start({ snapshot }).result
    expect(before).toMatchObject([{ callId: 'c-pay', attempt: 1 }])
    expect(after).toEqual([{ ...before[0], attempt: 2 }])
    expect(before[0]?.idempotencyKey).toMatch(/^job\/c-pay\/.{30}/)
  })

  test('counts its attempts over several ends', async () => {
    const first = await cut({ pay: 'rerun' })
    const again = world(['never', 'never'], { pay: 'rerun' }, {})
    const run = again.agent.start({ snapshot: first.snapshot })
    run.result.catch(() => {})
    await idle()
    const snapshot = run.snapshot()
    run.abort()
    const last = world(['done'], { pay: 'rerun' }, {})
    await last.agent.start({ snapshot }).result
    expect([again.seen, last.seen].flat().map(({ attempt }) => attempt)).toEqual([2, 3])
  })

  test('waits for a person if its tool says so, marked as in doubt', async () => {
    const { snapshot, agent, after } = await cut({ pay: 'ask' })
    const run = agent.start({ snapshot })
    const { pendingApproval } = await run.result
    expect(run.state).toBe('AwaitingApproval')
    expect(pendingApproval?.calls).toMatchObject([{ id: 'c-pay', kind: 'approval', inDoubt: true }])
    expect(after).toEqual([])
    run.abort()
  })

  test.each([
    ['to run again', true, 'ran c-pay', [2]],
    [
      'to be taken as failed',
      { approve: false, reason: 'no trace of it' },
      /marked it as failed: no trace of it/,
      [],
    ],
    ['to have had a result', { result: 'paid' }, 'paid', []],
  ] as const)('is decided %s', async (_, decision, expected, attempts) => {
    const { snapshot, agent, after } = await cut({ pay: 'ask' })
    const waiting = await agent.start({ snapshot }).result
    if (!waiting.pendingApproval) throw new Error('Nothing waits.')
    const stored = JSON.parse(JSON.stringify(waiting.pendingApproval))
    const result = await agent.resume(stored, { 'c-pay': decision })
    expect(resultsOf(result)['c-pay']).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    )
    expect(after.map(({ attempt }) => attempt)).toEqual(attempts)
    expect(result.output).toBe('done')
  })

  test('holds up the others of its turn until it is decided on', async () => {
    const fates = { pay: 'ask', mail: undefined, look: 'rerun' } as const
    const { snapshot, agent, after } = await cut(fates, parallel)
    const run = agent.start({ snapshot })
    await run.result
    expect(after).toEqual([])
    run.approve('c-pay')
    const result = await run.result
    expect(after.map(({ callId, attempt }) => `${callId} ${attempt}`).toSorted()).toEqual([
      'c-look 2',
      'c-pay 2',
    ])
    expect(resultsOf(result)['c-mail']).toMatch(/unknown/)
  })

  test('is not said never to have run when the run is aborted before the decision', async () => {
    const { snapshot, agent } = await cut({ pay: 'ask', look: 'rerun' }, parallel)
    const run = agent.start({ snapshot })
    await run.result
    run.abort()
    const results = run.messages.flatMap(toolResultsOf).map(({ result }) => result)
    expect(results).toEqual(Array(2).fill(expect.stringContaining('whether it took effect is unknown')))
  })

  test('is not said never to have run when the run is aborted while the next one is at work', async () => {
    const fates = { pay: undefined, mail: undefined }
    const { snapshot } = await cut(fates)
    const run = world(['never', 'never'], fates, {}).agent.start({ snapshot })
    run.result.catch(() => {})
    await idle()
    run.abort()
    const results = run.messages.flatMap(toolResultsOf).map(({ result }) => result)
    expect(results).toEqual(Array(2).fill(expect.stringContaining('whether it took effect is unknown')))
  })

  test('is not approved by what is remembered of another one', async () => {
    const { snapshot, agent } = await cut({ pay: 'ask', mail: 'ask' }, parallel)
    const run = agent.start({ snapshot })
    await run.result
    run.approve('c-pay', { remember: 'tool' })
    expect(run.pending.map(({ id }) => id)).toEqual(['c-mail'])
    run.abort()
  })

  test('is decided on once: an answer after the approval changes nothing', async () => {
    const { snapshot, agent, after } = await cut({ pay: 'ask', mail: 'ask' }, parallel)
    const actor = createActor(agent.machine, { snapshot, input: {} }).start()
    await idle()
    actor.send({ type: 'tool.approve', callId: 'c-pay' })
    actor.send({ type: 'tool.answer', callId: 'c-pay', result: 'too late' })
    actor.send({ type: 'tool.answer', callId: 'c-mail', result: 'sent' })
    const output = await endOf(actor)
    expect(resultsOf(output)).toEqual({ 'c-pay': 'ran c-pay', 'c-mail': 'sent' })
    expect(after.map(({ callId }) => callId)).toEqual(['c-pay'])
  })

  test('is shown to onApproval as in doubt', async () => {
    const asked: unknown[] = []
    const onApproval = (call: { id: string; inDoubt?: true }) => {
      asked.push([call.id, call.inDoubt])
      return true
    }
    const { snapshot, agent, after } = await cut({ pay: 'ask' }, { onApproval })
    await agent.start({ snapshot }).result
    expect(asked).toEqual([['c-pay', true]])
    expect(after).toHaveLength(1)
  })

  test('is in doubt in a batch of the user, too', async () => {
    const { executeSingle } = createToolExecutor()
    const executeBatch: ReturnType<typeof createToolExecutor>['executeBatch'] = (calls, ...rest) =>
      Promise.all(calls.map((each) => executeSingle(each, ...rest)))
    const fates = { pay: undefined, look: 'rerun' } as const
    const { snapshot, agent, after } = await cut(fates, { toolExecutor: { executeBatch } })
    await agent.start({ snapshot }).result
    expect(after).toMatchObject([{ callId: 'c-look', attempt: 2 }])
  })
})

test('keys of calls differ, whatever their ids are and whichever run they are of', async () => {
  const keys = new Set<string>()
  for (const id of ['one', 'two', 'two']) {
    const calls: ScriptTurn = [{ toolCall: { id: 'a', name: 'pay' } }]
    const pay = tool({
      name: 'pay',
      description: 'Pays',
      execute: (_, { idempotencyKey }) => void keys.add(idempotencyKey),
    })
    await new Agent(scriptedModel([calls, calls, 'done']), { tools: [pay] }).send('Go', { id })
  }
  expect(keys.size).toBe(6)
})
