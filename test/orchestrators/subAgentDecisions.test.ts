/** A sub-agent that waits for several decisions: each is asked for, and the time of the run counts again afterwards. */
import { expect, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { endOf, idle } from '../engine/watching.ts'

const call = (id: string, name: string, args = {}) => ({ toolCall: { id, name, arguments: args } })

const waiting = async (inner: ScriptTurn) => {
  const clock = new SimulatedClock()
  const risky = tool({ name: 'risky', description: 'Asks', needsApproval: true, execute: () => 'ran' })
  const form = tool({ name: 'form', description: 'Answered elsewhere' })
  const expert = new Agent(scriptedModel([[call('x', 'risky'), call('y', 'risky')], inner]), {
    tools: [risky, form],
  })
  const boss = new Agent(scriptedModel([[call('a', 'expert', { prompt: 'Do it.' })], 'All done.']), {
    tools: [expert.asTool({ name: 'expert', description: 'Knows' })],
    timeouts: { totalMs: 100 },
    clock,
  })
  const actor = boss.actor({ prompt: 'Go' })
  const asked: string[] = []
  actor.on('tool.approval', ({ callId }) => asked.push(callId))
  actor.on('tool.external', ({ callId }) => asked.push(`external ${callId}`))
  actor.start()
  await idle(10)
  const decide = async (callId: string) => {
    actor.send({ type: 'tool.approve', callId })
    await idle(10)
  }
  const isWaiting = () => actor.getSnapshot().hasTag('waiting')
  return { actor, asked, clock, decide, isWaiting }
}

test('a sub-agent goes on waiting until the last decision, then works on', async () => {
  const { actor, asked, clock, decide, isWaiting } = await waiting('Expert done.')
  expect(asked).toEqual(['a/x', 'a/y'])
  clock.increment(1e6)
  await decide('a/x')
  expect(isWaiting()).toBe(true)
  clock.increment(1e6)
  await decide('a/y')
  expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'All done.' })
})

test('a sub-agent that needs an answer after its approvals asks for that as well', async () => {
  const { actor, asked, decide, isWaiting } = await waiting([call('z', 'form')])
  await decide('a/x')
  await decide('a/y')
  expect(asked.at(-1)).toBe('external a/z')
  expect(isWaiting()).toBe(true)
  actor.stop()
})

test('once all is decided, nothing waits any more, and the time of the run counts', async () => {
  const { actor, clock, decide, isWaiting } = await waiting([{ hang: true }])
  clock.increment(1e6)
  await decide('a/x')
  await decide('a/y')
  expect(isWaiting()).toBe(false)
  clock.increment(99)
  await idle()
  expect(actor.getSnapshot().status).toBe('active')
  clock.increment(1)
  expect(await endOf(actor)).toMatchObject({ status: 'failed', error: { code: 'total_timeout' } })
})
