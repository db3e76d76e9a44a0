/** The next run of a conversation first reports to its policy what an aborted run could not. */
import { expect, test } from 'vitest'
import { type AnyStateMachine, assign, createMachine, fromPromise } from 'xstate'
import type { PolicyOptions } from '../../machines/policy/policyEvents.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { Run } from '../../src/agent/Run.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { AgentChats } from '../../src/ui/AgentChats.ts'
import { WaitingRuns } from '../../src/ui/WaitingRuns.ts'
import { call, refundDesk, verified } from './refunds.ts'

const taken = { actions: () => {} }

/** An agent that pays, and has a tool that never ends. */
const payer = (policy: AnyStateMachine | PolicyOptions, ...turns: ScriptTurn[]) => {
  const ran: string[] = []
  const pay = tool({ name: 'pay', description: 'Pays', execute: () => void ran.push('pay') })
  const wait = tool({ name: 'wait', description: 'Waits', execute: () => new Promise(() => {}) })
  return { ran, agent: new Agent(scriptedModel(turns), { tools: [pay, wait], policy }) }
}

/** Notes the type of each event that it gets, with `inDoubt`. */
const note = assign({
  seen: ({ context, event }: { context: { seen: string[] }; event: { type: string; inDoubt?: true } }) => [
    ...context.seen,
    `${event.type}${event.inDoubt ? ' in doubt' : ''}`,
  ],
})

const seenBy = ({ context }: JsonObject = {}): unknown => Object(context).seen

/** Aborts a run once it is in a state, and returns the policy that it leaves. */
const abortedIn = async (run: Run, state: string): Promise<JsonObject> => {
  await expect.poll(() => JSON.stringify(run.snapshot())).toContain(state)
  run.abort()
  const { partial } = await run.result.catch((error) => error)
  if (!partial.policy) throw new Error('The run has left no policy.')
  return JSON.parse(JSON.stringify(partial.policy))
}

const payAndWait: ScriptTurn = [call('p', 'pay'), call('w', 'wait')]

test('a policy that counts what was done counts what an aborted run has done', async () => {
  const once = createMachine({
    initial: 'Open',
    states: { Open: { on: { 'pay.call': taken, 'pay.done': 'Paid', 'wait.call': taken } }, Paid: {} },
  })
  const { agent, ran } = payer(once, payAndWait, [call('q', 'pay')], 'no')
  const run = agent.start('Pay')
  await expect.poll(() => ran).toEqual(['pay'])
  const policy = await abortedIn(run, '"id":"p"')
  const { policy: after } = await agent.send('Again', { policy })
  expect(ran).toEqual(['pay'])
  expect(after).toMatchObject({ value: 'Paid', judging: { open: null } })
  expect(JSON.stringify(after)).not.toContain('unseen')
})

test('each end is reported once, and a call that was running is in doubt', async () => {
  const seeing = createMachine({
    context: { seen: [] as string[] },
    on: { 'pay.*': { actions: note }, 'wait.*': { actions: note }, prompt: { actions: note } },
  })
  const { agent, ran } = payer(seeing, payAndWait, 'one', 'two')
  const run = agent.start('Pay')
  await expect.poll(() => ran).toEqual(['pay'])
  const policy = await abortedIn(run, '"id":"p"')
  const { policy: next } = await agent.send('Again', { policy })
  const { policy: last } = await agent.send('And again', next ? { policy: next } : {})
  const ends = ['pay.done', 'wait.failed in doubt']
  expect(seenBy(last)).toEqual(['prompt', 'pay.call', 'wait.call', ...ends, 'prompt', 'prompt'])
})

test('an end that a check was looking at is not reported again', async () => {
  const checking = createMachine({
    context: { seen: [] as string[] },
    initial: 'Open',
    states: {
      Open: { on: { 'pay.call': taken, 'pay.done': { target: 'Checking', actions: note } } },
      Checking: {
        tags: 'hold',
        invoke: {
          src: fromPromise(
            ({ signal }) =>
              new Promise((_, no) => {
                signal.onabort = no
              }),
          ),
          onDone: 'Open',
        },
      },
    },
  })
  const { agent } = payer({ machine: checking, others: 'refuse' }, [call('p', 'pay'), call('q', 'pay')])
  const first = await abortedIn(agent.start('Pay'), 'Holding')
  expect(seenBy(first)).toEqual(['pay.done'])
  // The next run is held by the check, too, and aborted: nothing is lost, and nothing is reported twice.
  const second = await abortedIn(agent.start('Again', { policy: first }), 'Holding')
  expect(second).toEqual(first)
  expect(Object(second.judging).unseen).toHaveLength(2)
})

test('a call that had passed when the run was aborted, and never ran, has failed', async () => {
  const budget = createMachine({
    context: { seen: [] as string[] },
    initial: 'Open',
    states: {
      Open: { on: { 'pay.call': taken, 'pay.failed': { actions: note }, 'wait.call': 'Checking' } },
      Checking: { tags: 'hold', invoke: { src: fromPromise(() => new Promise(() => {})), onDone: 'Open' } },
    },
  })
  const { agent } = payer({ machine: budget, others: 'refuse' }, payAndWait)
  const { judging } = await abortedIn(agent.start('Pay'), 'Holding')
  expect(Object(judging).unseen).toMatchObject([{ key: 'p', event: { type: 'pay.failed', callId: 'p' } }])
})

test('a call that waited for a person when the run was aborted was rejected', async () => {
  const { tools, policy, ran } = refundDesk()
  const large: ScriptTurn = [call('r', 'refund', { euros: 160 })]
  const small: ScriptTurn = [call('s', 'refund', { euros: 10 })]
  const agent = new Agent(scriptedModel([verified, large, small, 'paid']), { tools, policy })
  const left = await abortedIn(agent.start('I am Ada. Pay 160'), 'AwaitingApproval')
  const { policy: after } = await agent.send('Pay 10', { policy: left })
  expect(ran).toEqual(['verify Ada', 'refund 10'])
  expect(after).toMatchObject({ value: 'Verified', context: { left: 90 } })
})

test('a page that asks something else instead of deciding has rejected the call', async () => {
  const { tools, policy, ran } = refundDesk()
  const turns: ScriptTurn[] = [verified, [call('r', 'refund', { euros: 160 })]]
  const model = scriptedModel([...turns, [call('s', 'refund', { euros: 10 })], 'paid'])
  const chats = new AgentChats(new Agent(model, { tools, policy }), new WaitingRuns(10, 1e9))
  for (const text of ['I am Ada. Pay 160', 'Pay 10']) {
    const question = {
      prompt: [{ type: 'text' as const, text }],
      history: [],
      asked: [],
      intent: 'new' as const,
    }
    const turn = await chats.ask('a', question, { context: undefined })
    await turn.follow({ onEvent: () => {}, ready: async () => {}, signal: new AbortController().signal })
  }
  expect(ran).toEqual(['verify Ada', 'refund 10'])
})

test.each([7, [7], [{ key: 'p', mode: 'ask' }], [{ key: 'p', mode: 'show', event: {} }]])(
  'a stored policy with something else in that place does not continue: %j',
  async (unseen) => {
    const { agent } = payer(createMachine({ on: { 'pay.call': taken, 'wait.call': taken } }), 'one', 'two')
    const { policy } = await agent.send('Go')
    const changed = { ...policy, judging: { ...Object(policy?.judging), unseen } }
    await expect(agent.send('Go', { policy: changed })).rejects.toThrow('no record of what it was asked')
  },
)
