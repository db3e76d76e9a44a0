/** What a run waits for, read from its snapshot, live or stored, and what its deciders say. */
import { describe, expect, test } from 'vitest'
import { createActor } from 'xstate'
import { askEvent } from '../../machines/agent/announcements.ts'
import { decisionOn } from '../../machines/tools/approvals.ts'
import { isRun, messagesIn, pendingIn, unattendedIn } from '../../machines/tools/pendingCalls.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import type { OnApproval } from '../../src/tools/approval.ts'
import { tool } from '../../src/tools/tool.ts'
import { endOf, idle } from './watching.ts'

const call = (id: string, name = 'risky', args = {}): ScriptStep => ({
  toolCall: { id, name, arguments: args },
})

const agentOf = (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const ran: string[] = []
  const risky = tool({
    name: 'risky',
    description: 'Asks',
    input: { jsonSchema: { type: 'object' } },
    needsApproval: true,
    execute: (args, { callId }) => {
      ran.push(`${callId} ${JSON.stringify(args)}`)
      return 'ran'
    },
  })
  const outside = tool({ name: 'outside', description: 'Answered elsewhere' })
  return { ran, agent: new Agent(scriptedModel(turns), { tools: [risky, outside], ...options }) }
}

const started = async (turns: ScriptTurn[], options: AgentOptions = {}) => {
  const { agent, ran } = agentOf(turns, options)
  const actor = agent.actor({ prompt: 'Go' })
  actor.start()
  await idle()
  const stored = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
  return { actor, ran, stored }
}

const never: OnApproval = () => new Promise(() => {})

describe('a run that waits', () => {
  test.each<[string, ScriptTurn[], AgentOptions, Partial<PendingCall>[], boolean]>([
    ['for an approval', [[call('a')]], {}, [{ id: 'a', name: 'risky', kind: 'approval' }], false],
    ['for onApproval', [[call('a')]], { onApproval: never }, [{ id: 'a', kind: 'approval' }], true],
    ['for an answer', [[call('x', 'outside')]], {}, [{ id: 'x', kind: 'answer' }], false],
    [
      'at a limit',
      [[call('x', 'nothing')]],
      { maxSteps: 1, atLimit: 'ask' },
      [{ id: 'limit', kind: 'limit', arguments: { limit: 'steps', used: 1, allowed: 1 } }],
      false,
    ],
    ['for its model', [[{ hang: true }]], {}, [], false],
  ])('%s shows it, live and stored', async (_, turns, options, expected, isAttended) => {
    const { actor, stored } = await started(turns, options)
    for (const snapshot of [actor.getSnapshot(), stored]) {
      expect(pendingIn(snapshot)).toMatchObject(expected)
      expect(pendingIn(snapshot)).toHaveLength(expected.length)
      expect(unattendedIn(snapshot)).toEqual(isAttended ? [] : pendingIn(snapshot))
    }
    actor.stop()
  })

  test('does not wait any more once it has ended', async () => {
    const { actor, stored } = await started([[call('a')]])
    expect(pendingIn({ ...stored, status: 'done' })).toEqual([])
    actor.send({ type: 'abort' })
    expect(pendingIn(actor.getSnapshot())).toEqual([])
  })

  test('is found below a machine of the user, whose states may have any name', async () => {
    const { actor, stored } = await started([[call('a')]])
    const context = { round: {}, history: 'mine' }
    for (const value of ['AwaitingApproval', 'AwaitingTools', 'AtLimit'])
      for (const own of [undefined, {}, context, { ...context, round: [] }, { history: [] }])
        expect(
          pendingIn({ status: 'active', value, context: own, children: { one: { snapshot: stored } } }),
        ).toMatchObject([{ id: 'a' }])
    actor.stop()
  })

  test.each([undefined, null, 'text', 7, [], {}, { status: 'active' }])(
    '%j waits for nothing',
    (snapshot) => {
      expect([pendingIn(snapshot), unattendedIn(snapshot), messagesIn(snapshot)]).toEqual([[], [], []])
    },
  )
})

const runData = { answer: {}, request: {}, round: {}, history: [], messages: [] }

test.each<[unknown, boolean]>([
  [runData, true],
  [{ ...runData, answer: 42 }, false],
  [{ ...runData, request: [] }, false],
  [{ ...runData, round: [] }, false],
  [{ ...runData, history: {} }, false],
  [{ ...runData, messages: 'none' }, false],
  [{ history: [] }, false],
  [null, false],
])('%j is the data of a run: %s', (context, expected) => {
  expect(isRun(context)).toBe(expected)
})

test('the messages of a run are its own, then those of the runs below it that have not ended', () => {
  const message = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })
  const below = { snapshot: { context: { messages: [message('below')] } } }
  const snapshot = { context: { messages: [message('own'), { role: 'other' }] }, children: { below } }
  expect(messagesIn(snapshot)).toEqual([message('own'), message('below')])
  expect(messagesIn({ context: { messages: 'none' }, children: { below } })).toEqual([message('below')])
})

describe('what listeners get when a call waits', () => {
  const part = { type: 'toolCall', id: 'a', name: 'risky', arguments: { n: 1 } } as const

  test.each<[PendingCall, object]>([
    [
      { ...part, kind: 'approval' },
      { type: 'tool.approval', callId: 'a', call: part },
    ],
    [
      { ...part, kind: 'approval', inDoubt: true },
      { type: 'tool.approval', callId: 'a', call: part, inDoubt: true },
    ],
    [
      { ...part, kind: 'answer' },
      { type: 'tool.external', callId: 'a', call: part },
    ],
    [
      { ...part, kind: 'limit', arguments: { limit: 'steps', used: 2, allowed: 1 } },
      { type: 'limit', callId: 'a', limit: 'steps', used: 2, allowed: 1 },
    ],
  ])('%j', (pending, event) => {
    expect(askEvent(pending)).toStrictEqual(event)
  })

  test('is theirs: what they do to it changes nothing', () => {
    const pending: PendingCall = { ...part, kind: 'approval' }
    expect(askEvent(pending)).toMatchObject({ call: part })
    expect((askEvent(pending) as { call: object }).call).not.toBe(part)
    expect(Reflect.get((askEvent(pending) as { call: object }).call, 'arguments')).not.toBe(part.arguments)
  })
})

describe('onApproval', () => {
  test.each<[unknown, object]>([
    [true, { type: 'tool.approve', callId: 'a' }],
    [{ approve: true }, { type: 'tool.approve', callId: 'a' }],
    [
      { approve: true, arguments: { n: 2 }, remember: 'tool', reason: 'fine' },
      { type: 'tool.approve', callId: 'a', arguments: { n: 2 }, remember: 'tool' },
    ],
    [false, { type: 'tool.reject', callId: 'a' }],
    [undefined, { type: 'tool.reject', callId: 'a' }],
    [null, { type: 'tool.reject', callId: 'a' }],
    ['yes', { type: 'tool.reject', callId: 'a' }],
    [1, { type: 'tool.reject', callId: 'a' }],
    [[true], { type: 'tool.reject', callId: 'a' }],
    [{}, { type: 'tool.reject', callId: 'a' }],
    [{ approve: 'yes' }, { type: 'tool.reject', callId: 'a' }],
    [
      { approve: false, reason: 'no' },
      { type: 'tool.reject', callId: 'a', reason: 'no' },
    ],
    [
      { approve: false, reason: '' },
      { type: 'tool.reject', callId: 'a', reason: '' },
    ],
  ])('says %j: only a clear yes is one', (approval, command) => {
    expect(decisionOn({ id: 'a' }, approval as never)).toStrictEqual(command)
    expect(decisionOn({ id: 'a', question: 'q' }, approval as never)).toStrictEqual({
      ...command,
      question: 'q',
    })
  })

  test('gets a copy of the call: what it does to that changes nothing', async () => {
    const { actor, ran } = await started([[call('a', 'risky', { n: 1 })], 'ok'], {
      onApproval: (asked) => {
        asked.arguments.n = 999
        return true
      },
    })
    await endOf(actor)
    expect(ran).toEqual(['a {"n":1}'])
  })

  test('is asked again after a restore, but not about what it has decided on', async () => {
    const { actor, stored } = await started([[call('a'), call('b'), call('c')]], {
      onApproval: ({ id }) => id === 'b' || new Promise(() => {}),
    })
    actor.stop()
    const asked: string[] = []
    const { agent, ran } = agentOf(['ok'], {
      onApproval: ({ id }) => {
        asked.push(id)
        return true
      },
    })
    const restored = createActor(agent.machine, { snapshot: stored, input: {} }).start()
    expect(await endOf(restored)).toMatchObject({ status: 'complete', output: 'ok' })
    expect(asked).toEqual(['a', 'c'])
    expect(ran).toEqual(['a {}', 'b {}', 'c {}'])
  })
})
