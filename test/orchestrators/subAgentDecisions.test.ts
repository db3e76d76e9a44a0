/** A sub-agent that waits for several decisions: each is asked for, and the time of the run counts again afterwards. */
import { expect, test } from 'vitest'
import { createActor, SimulatedClock, type Snapshot } from 'xstate'
import { pendingIn } from '../../machines/tools/pendingCalls.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { gated } from '../engine/sampleTools.ts'
import { endOf, idle } from '../engine/watching.ts'

const call = (id: string, name: string, args = {}) => ({ toolCall: { id, name, arguments: args } })

const waiting = async (inner: ScriptTurn, snapshot?: Snapshot<unknown>) => {
  const clock = new SimulatedClock()
  const risky = tool({ name: 'risky', description: 'Asks', needsApproval: true, execute: () => 'ran' })
  const form = tool({ name: 'form', description: 'Answered elsewhere' })
  const turns: ScriptTurn[] = snapshot ? [inner] : [[call('x', 'risky'), call('y', 'risky')], inner]
  const expert = new Agent(scriptedModel(turns), {
    tools: [risky, form],
  })
  const asking: ScriptTurn[] = snapshot ? [] : [[call('a', 'expert', { prompt: 'Do it.' })]]
  const boss = new Agent(scriptedModel([...asking, 'All done.']), {
    tools: [expert.asTool({ name: 'expert', description: 'Knows' })],
    timeouts: { totalMs: 100 },
    clock,
  })
  const actor = createActor(boss.machine, {
    input: { prompt: 'Go' },
    clock,
    ...(snapshot && { snapshot: snapshot as never }),
  })
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
  // Each was asked for once: the second was known when the first was decided on.
  expect(asked).toEqual(['a/x', 'a/y'])
})

test('a stored run that waits for two decisions asks for neither again, and shows what is left', async () => {
  const before = await waiting('never')
  const snapshot = JSON.parse(JSON.stringify(before.actor.getPersistedSnapshot()))
  before.actor.stop()
  const { actor, asked, decide, isWaiting } = await waiting('Expert done.', snapshot)
  await decide('a/x')
  expect(pendingIn(actor.getSnapshot())).toMatchObject([{ id: 'a/y', kind: 'approval' }])
  expect(isWaiting()).toBe(true)
  await decide('a/y')
  expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'All done.' })
  expect(asked).toEqual([])
})

test('every step of a sub-agent that waits can be seen from outside: one call less', async () => {
  const { actor, decide } = await waiting('Expert done.')
  const seen: string[] = []
  actor.subscribe((snapshot) =>
    seen.push(
      pendingIn(snapshot)
        .map(({ id }) => id)
        .join(),
    ),
  )
  await decide('a/x')
  expect(seen.at(-1)).toBe('a/y')
  actor.stop()
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

test('a run learns once that it waits: not at each result that comes while a sub-agent waits', async () => {
  const slow = gated()
  const risky = tool({ name: 'risky', description: 'Asks', needsApproval: true, execute: () => 'ran' })
  const expert = new Agent(scriptedModel([[call('x', 'risky')], 'Expert done.']), { tools: [risky] })
  const turn = [call('a', 'expert', { prompt: 'Do it.' }), call('b', 'slow'), call('c', 'slow')]
  const boss = new Agent(scriptedModel([turn, 'All done.']), {
    tools: [expert.asTool({ name: 'expert', description: 'Knows' }), slow.tool],
    toolExecution: 'parallel',
  })
  const events: string[] = []
  const asked: string[] = []
  const actor = createActor(boss.machine, {
    input: { prompt: 'Go' },
    inspect: (event) => {
      if (event.type !== '@xstate.event' || event.actorRef !== actor) return
      const { type } = event.event
      if (type === 'tool.waiting' || type === 'tool.finished') events.push(type)
    },
  })
  actor.on('tool.approval', ({ callId }) => asked.push(`${callId} after ${events.length} events`))
  actor.start()
  for (const id of ['b', 'c']) {
    await idle(5)
    slow.release(id)
  }
  await idle(5)
  expect(events).toEqual(['tool.waiting', 'tool.finished', 'tool.finished'])
  // People are asked once nothing else is at work.
  expect(asked).toEqual(['a/x after 3 events'])
  actor.send({ type: 'tool.approve', callId: 'a/x' })
  expect(await endOf(actor)).toMatchObject({ status: 'complete', output: 'All done.' })
  expect(events.slice(3)).toEqual(['tool.waiting', 'tool.finished'])
  expect(asked).toHaveLength(1)
})
