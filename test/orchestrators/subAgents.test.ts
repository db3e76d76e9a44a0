import { describe, expect, test } from 'vitest'
import { type AnyActorRef, type InspectionEvent, SimulatedClock } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { AbortedError } from '../../src/messages/errors.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle, rejection } from '../engine/watching.ts'

const ask = (id: string, prompt: string) => ({ toolCall: { id, name: 'expert', arguments: { prompt } } })
const used = (text: string, outputTokens: number): ScriptTurn => [{ text }, { usage: { outputTokens } }]

const team = (
  outer: ScriptTurn[],
  inner: ScriptTurn[],
  options: AgentOptions = {},
  own: AgentOptions = {},
) => {
  const expertModel = scriptedModel(inner)
  const bossModel = scriptedModel(outer)
  const expert = new Agent(expertModel, own)
  const tools = [expert.asTool({ name: 'expert', description: 'Knows a lot' })]
  return { boss: new Agent(bossModel, { tools, ...options }), bossModel, expertModel }
}

describe('an agent as a tool of another', () => {
  test('is seen by the inspector below the call that it answers, with its own children', async () => {
    const seen: string[] = []
    const path = (ref: AnyActorRef): string => (ref._parent ? `${path(ref._parent)}/${nameOf(ref)}` : 'root')
    const nameOf = ({ id }: AnyActorRef) => (id.startsWith('x:') ? 'run' : id)
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.actor') seen.push(path(event.actorRef as AnyActorRef))
    }
    const { boss } = team([[ask('a', 'Why?')], 'Because.'], ['Physics.'], { inspect })
    await boss.send('Why?')
    expect(seen).toEqual(
      expect.arrayContaining([
        'root/toolExecutor/call:a',
        'root/toolExecutor/call:a/run',
        'root/toolExecutor/call:a/run/model',
      ]),
    )
  })

  test('may be orchestrated itself: its output is the answer, its whole usage counts', async () => {
    const { boss, bossModel } = team(
      [[ask('a', 'A poem.'), { usage: { outputTokens: 1 } }], used('Here you are.', 1)],
      [used('Roses', 10), used('Too short.', 10), used('Red roses', 10)],
      {},
      { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) },
    )
    const { messages, usage } = await boss.send('A poem.')
    expect(messages.flatMap(toolResultsOf)[0]?.result).toBe('Red roses')
    expect(usage).toEqual({ outputTokens: 32 })
    bossModel.assertDone()
  })

  test('works beside others of its kind at the same time, each with its own prompt', async () => {
    const { boss, expertModel } = team(
      [[ask('a', 'One?'), ask('b', 'Two?')], 'Both.'],
      ['First.', 'Second.'],
      { toolExecution: 'parallel' },
    )
    const { messages } = await boss.send('Go.')
    expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual(['First.', 'Second.'])
    const asked = expertModel.requests.map((request) => request.messages.map(textOf))
    expect(asked).toEqual([['One?'], ['Two?']])
  })

  test('is aborted with the whole, in whatever phase it is', async () => {
    const { boss, expertModel } = team(
      [[ask('a', 'A poem.')]],
      ['Roses', [{ text: 'Too' }, { hang: true }]],
      {},
      { orchestrator: reflectionOrchestrator() },
    )
    const controller = new AbortController()
    const sent = rejection(boss.send('A poem.', { signal: controller.signal }), AbortedError)
    await idle(10)
    expect(expertModel.requests).toHaveLength(2)
    controller.abort()
    await sent
    expect(expertModel.closed).toBe(1)
  })

  test('that fails in its second phase is an error result with the reason', async () => {
    const { boss } = team(
      [[ask('a', 'A poem.')], 'Sorry.'],
      [used('Roses', 5), [{ error: { message: 'boom' } }]],
      {},
      { orchestrator: reflectionOrchestrator() },
    )
    const { messages, usage } = await boss.send('A poem.')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ isError: true, result: '{"error":"boom"}' }])
    expect(usage).toEqual({ outputTokens: 5 })
  })
})

describe('a sub-agent that waits for a person', () => {
  const risky = (ran: string[], name = 'risky') =>
    tool({
      name,
      description: name,
      needsApproval: true,
      execute: (_, { callId, idempotencyKey }) => {
        ran.push(`${callId} ${idempotencyKey.split('/').slice(0, 3).join('/')}`)
        return 'done it'
      },
    })
  const wants = (id: string): ScriptTurn => [{ toolCall: { id, name: 'risky' } }]
  const asking = (
    inner: ScriptTurn[],
    outer: ScriptTurn[],
    options: AgentOptions = {},
    own: AgentOptions = {},
  ) => {
    const ran: string[] = []
    return { ran, ...team(outer, inner, options, { tools: [risky(ran)], ...own }) }
  }

  test('lets the whole run wait: its call is named below the one that runs it', async () => {
    const { boss, ran } = asking([wants('x'), 'Expert done.'], [[ask('a', 'Do it.')], 'All done.'])
    const run = boss.start('Go', { id: 'job' })
    const announced: string[] = []
    run.on('*', (event) => {
      if (event.type === 'tool.approval') announced.push(event.callId)
    })
    const { pendingApproval } = await run.result
    expect(pendingApproval?.calls).toMatchObject([{ id: 'a/x', name: 'risky', kind: 'approval' }])
    expect(announced).toEqual(['a/x'])
    run.approve('a/x')
    expect((await run.result).output).toBe('All done.')
    expect(ran).toEqual(['x job/a/x'])
  })

  test('shows that it waits, and so does every machine above it', async () => {
    const { boss } = asking([wants('x'), 'Expert done.'], [[ask('a', 'Do it.')], 'Draft.', 'Good.'], {
      orchestrator: reflectionOrchestrator({ maxRounds: 1, isContent: () => true }),
    })
    const actor = boss.actor({ prompt: 'Go' })
    actor.subscribe({ error: () => {} })
    actor.start()
    await idle(10)
    expect(actor.getSnapshot()).toMatchObject({ value: { Draft: 'Waiting' } })
    expect(actor.getSnapshot().hasTag('waiting')).toBe(true)
    actor.send({ type: 'tool.approve', callId: 'a/x' })
    await idle(10)
    expect(actor.getSnapshot().hasTag('waiting')).toBe(false)
    expect(actor.getSnapshot().status).toBe('done')
  })

  test('is stored with the run, and goes on from where it was in another process', async () => {
    const first = asking([wants('x')], [[ask('a', 'Do it.')]])
    const { pendingApproval } = await first.boss.send('Go')
    if (!pendingApproval) throw new Error('Nothing waits.')
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    const second = asking(['Expert done.'], ['All done.'])
    const result = await second.boss.resume(stored, { 'a/x': true })
    expect(result.output).toBe('All done.')
    expect(result.messages.flatMap(toolResultsOf)).toMatchObject([{ id: 'a', result: 'Expert done.' }])
    expect([first.ran, second.ran].map(({ length }) => length)).toEqual([0, 1])
    expect(second.expertModel.requests[0]?.messages).toHaveLength(3)
  })

  test('goes on while another one still waits, and both are waited for when nothing else is at work', async () => {
    const inner: ScriptTurn[] = [wants('x'), wants('x'), 'Expert done.', 'Expert done.']
    const { boss, ran } = asking(inner, [[ask('a', '1'), ask('b', '2')], 'All done.'], {
      toolExecution: 'parallel',
    })
    const run = boss.start('Go')
    expect((await run.result).pendingApproval?.calls.map(({ id }) => id)).toEqual(['a/x', 'b/x'])
    run.approve('b/x')
    expect((await run.result).pendingApproval?.calls.map(({ id }) => id)).toEqual(['a/x'])
    run.reject('a/x', 'no')
    expect((await run.result).output).toBe('All done.')
    expect(ran.map((each) => each.split(' ')[0])).toEqual(['x'])
  })

  test('does not use up its time', async () => {
    const expert = new Agent(scriptedModel([wants('x'), 'Expert done.']), { tools: [risky([])] })
    const tools = [expert.asTool({ name: 'expert', description: 'Knows a lot', timeoutMs: 30 })]
    const clock = new SimulatedClock()
    const boss = new Agent(scriptedModel([[ask('a', 'Do it.')], 'All done.']), { tools, clock })
    const run = boss.start('Go')
    await run.result
    clock.increment(60)
    run.approve('a/x')
    expect((await run.result).messages.flatMap(toolResultsOf)[0]?.result).toBe('Expert done.')
  })

  test('two levels down is named by the whole way', async () => {
    const ran: string[] = []
    const inmost = new Agent(scriptedModel([wants('x'), 'Done.']), { tools: [risky(ran)] })
    const middle = new Agent(scriptedModel([[ask('m', 'Do.')], 'Done.']), {
      tools: [inmost.asTool({ name: 'expert', description: '' })],
    })
    const boss = new Agent(scriptedModel([[ask('a', 'Do.')], 'All done.']), {
      tools: [middle.asTool({ name: 'expert', description: '' })],
    })
    const { pendingApproval } = await boss.send('Go', { id: 'job' })
    if (!pendingApproval) throw new Error('Nothing waits.')
    expect(pendingApproval.calls.map(({ id }) => id)).toEqual(['a/m/x'])
  })
})

test('a sub-agent whose process ended goes on: what it had done is not done again, what was running is in doubt', async () => {
  const seen: string[] = []
  const work = (isSlow: boolean) =>
    tool({
      name: 'work',
      description: 'Works',
      execute: (_, { callId }) => {
        seen.push(callId)
        return isSlow && callId === 'two' ? new Promise(() => {}) : `did ${callId}`
      },
    })
  const calls: ScriptTurn = ['one', 'two', 'three'].map((id) => ({ toolCall: { id, name: 'work' } }))
  const first = team([[ask('a', 'Do.')]], [calls], {}, { tools: [work(true)] })
  const run = first.boss.start('Go')
  run.result.catch(() => {})
  await idle(10)
  const snapshot = run.snapshot()
  run.abort()
  const second = team(['All done.'], ['Expert done.'], {}, { tools: [work(false)] })
  expect((await second.boss.start({ snapshot }).result).output).toBe('All done.')
  expect(seen).toEqual(['one', 'two', 'three'])
  const results = second.expertModel.requests[0]?.messages.flatMap(toolResultsOf).map(({ result }) => result)
  expect(results).toEqual(['did one', expect.stringContaining('unknown'), 'did three'])
})
