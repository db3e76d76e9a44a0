/** A run that waits says so to its listeners, and is never waited for in vain. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { OrchestrationError } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { collect, idle } from '../engine/watching.ts'
import { askingAgent, call, settled, waitOf } from './askingAgent.ts'

const stored = async () => waitOf(await askingAgent([[call('a'), call('b')]]).agent.send('Go'))

describe('a stored run', () => {
  test('announces what it still waits for to those who listen for approvals', async () => {
    const { agent, ran } = askingAgent(['done'])
    const run = agent.start({ ...(await stored()), decisions: { a: false } })
    const seen: string[] = []
    run.on('*', ({ type }) => seen.push(type))
    run.on('tool.approval', ({ callId, call: { name } }) => {
      seen.push(`${callId} ${name}`)
      run.approve(callId)
    })
    expect((await settled(run.result)).output).toBe('done')
    expect(seen.filter((each) => each === 'b ask' || each === 'tool.approval')).toEqual([
      'tool.approval',
      'b ask',
    ])
    expect(ran).toEqual(['b {}'])
  })

  test('whose sub-agent was decided on does not wait again because there is a listener', async () => {
    const inner = askingAgent([[call('a')], 'inner done']).agent
    const sub = inner.asTool({ name: 'sub', description: 'A sub-agent' })
    const outer = (turns: ScriptTurn[]) => new Agent(scriptedModel(turns), { tools: [sub] })
    const asked: ScriptTurn = [{ toolCall: { id: 's', name: 'sub', arguments: { prompt: 'Go' } } }]
    const pending = waitOf(await outer([asked]).send('Go'))
    const run = outer(['done']).start({ ...pending, decisions: { 's/a': true } })
    run.on('*', () => {})
    expect((await settled(run.result)).output).toBe('done')
  })

  test('announces it to those who listen for external calls, too', async () => {
    const pending = waitOf(await askingAgent([[call('x', 'outside')]]).agent.send('Go'))
    const { agent } = askingAgent(['done'])
    const run = agent.start(pending)
    run.on('tool.external', ({ callId }) => run.answer(callId, 'here'))
    expect((await settled(run.result)).output).toBe('done')
  })

  test('that asked onApproval waits for decisions where there is none', async () => {
    const asking = askingAgent([[call('a')]], { onApproval: () => new Promise(() => {}) }).agent.start('Go')
    await idle()
    const snapshot = asking.snapshot()
    asking.abort()
    const { agent, ran } = askingAgent(['done'])
    const run = agent.start({ snapshot })
    expect((await settled(run.result)).pendingApproval?.calls).toMatchObject([{ id: 'a' }])
    run.approve('a')
    expect((await settled(run.result)).output).toBe('done')
    expect(ran).toEqual(['a {}'])
  })

  test('comes back from a store that does not keep the order of keys', async () => {
    const { agent } = askingAgent([[call('a')]], {
      toolExecutor: { executeSingle: () => new Promise(() => {}) },
    })
    const run = agent.start('Go')
    run.on('tool.approval', () => run.approve('a', { arguments: { zone: 1, at: 2 } }))
    await idle()
    expect(run.state).toBe('ToolExecution')
    const snapshot = turned(run.snapshot())
    run.abort()
    const { agent: other, ran } = askingAgent(['done'])
    expect((await settled(other.start({ snapshot }).result)).output).toBe('done')
    expect(ran).toHaveLength(1)
  })
})

/** The same JSON with the keys of every object in another order. */
const turned = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).reverse())
      : inner,
  )

describe('a run whose last decider leaves without a decision', () => {
  test('says that it waits', async () => {
    const { agent, ran } = askingAgent([[call('a')], 'done'])
    const run = agent.start('Go')
    const first = run.on('tool.approval', () => {})
    const second = run.on('tool.approval', () => {})
    const { result } = run
    await idle()
    first.unsubscribe()
    await idle()
    second.unsubscribe()
    expect((await settled(result)).pendingApproval?.calls).toMatchObject([{ id: 'a' }])
    run.approve('a')
    expect((await settled(run.result)).output).toBe('done')
    expect(ran).toEqual(['a {}'])
  })

  test('before it begins, changes nothing', async () => {
    const { agent } = askingAgent(['done'])
    const run = agent.start(await stored())
    run.on('tool.approval', () => {}).unsubscribe()
    const chunks = await settled(collect(run))
    expect(chunks.at(-1)?.pendingApproval?.calls).toHaveLength(2)
  })
})

describe('a run that waits and is held', () => {
  test('goes on inside the loop, again and again', async () => {
    const { agent, ran } = askingAgent([[call('a'), call('x', 'outside')], [call('b')], 'done'])
    const run = agent.start('Go')
    const loop = async () => {
      const texts: string[] = []
      for await (const { output, pendingApproval } of run) {
        texts.push(output)
        for (const { id, kind } of pendingApproval?.calls ?? []) {
          await idle(1)
          if (kind === 'approval') run.approve(id)
          else run.answer(id, 'here')
        }
      }
      return texts.join('')
    }
    expect(await settled(loop())).toBe('\ndone')
    expect(ran).toEqual(['a {}', 'b {}'])
    expect((await settled(run.result)).output).toBe('done')
  })

  test('ends its loops at the wait, and a new loop has it all', async () => {
    const { agent } = askingAgent([[{ text: 'May I?' }, call('a')], 'done'])
    const run = agent.start('Go')
    const [one, other] = await settled(Promise.all([collect(run), collect(run)]))
    expect(one?.at(-1)?.pendingApproval).toBeDefined()
    expect(other).toEqual(one)
    run.approve('a')
    const all = await settled(collect(run))
    expect(all.map(({ output }) => output).join('')).toBe('May I?\ndone')
  })

  test('takes an abort, and gives the call its result', async () => {
    const { agent, ran } = askingAgent([[call('a')]])
    const run = agent.start('Go')
    await settled(run.result)
    run.abort('enough')
    await expect(settled(run.result)).rejects.toThrow('The run was aborted: enough')
    expect(run.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
    expect(ran).toEqual([])
    expect(() => run.steer('on')).toThrow(OrchestrationError)
  })

  test('does not run a call that is approved after its signal was aborted', async () => {
    const { agent, ran } = askingAgent([[call('a')], 'done'])
    const controller = new AbortController()
    const run = agent.start('Go', { signal: controller.signal })
    await settled(run.result)
    controller.abort()
    run.approve('a')
    await expect(settled(run.result)).rejects.toThrow('The run was aborted')
    expect(ran).toEqual([])
  })
})
