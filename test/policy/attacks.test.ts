/** Nothing gets around a policy: neither what the model says, nor what happens to its run, its data or its machine. */
import { describe, expect, test } from 'vitest'
import {
  type AnyActorRef,
  type AnyStateMachine,
  assign,
  createMachine,
  fromPromise,
  raise,
  sendTo,
} from 'xstate'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import type { Run } from '../../src/agent/Run.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import { webSearch } from '../../src/model/serverTools.ts'
import { AgentStore } from '../../src/react/AgentStore.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { call, resultsIn } from './refunds.ts'

const taken = { actions: () => {} }

/** An agent with the tool `look`, and the names of the tools that ran. */
const looking = (policy: AgentOptions['policy'], turns: ScriptTurn[], more: Partial<AgentOptions> = {}) => {
  const ran: string[] = []
  const look = tool({ name: 'look', description: 'Looks', execute: () => void ran.push('look') })
  const model = scriptedModel(turns, { profile: { nativeSchema: false } })
  return { ran, model, agent: new Agent(model, { tools: [look], ...(policy && { policy }), ...more }) }
}

const look = (id: string) => call(id, 'look')

type Watched = Pick<Run, 'on' | 'steer' | 'abort'> & { result: Promise<unknown> }

describe('a text that the policy has not accepted', () => {
  const noSecret = createMachine({
    on: { answer: { guard: ({ event }) => !event.text.includes('secret'), ...taken }, 'look.call': taken },
  })
  const aside: ScriptTurn = [{ text: 'the secret' }, look('l')]
  const schema = z.object({ word: z.string() })

  /** All that listeners get of a run, and its end, however it ends. */
  const watched = async (
    turns: ScriptTurn[],
    { isTyped = false, ...more }: Partial<AgentOptions> & { isTyped?: boolean } = {},
    chunks?: 'hold',
    act: (run: Watched) => void = () => {},
  ) => {
    const { agent } = looking({ machine: noSecret, ...(chunks && { chunks }) }, turns, more)
    const shown: string[] = []
    const run: Watched = isTyped ? agent.start('Go', { schema }) : agent.start('Go')
    run.on('*', (event) => void shown.push(JSON.stringify(event)))
    act(run)
    const end: unknown = await run.result.catch(({ partial }) => partial)
    const { output, answer, messages }: Partial<ChatResult & { answer: string }> = Object(end)
    return { output, answer, messages, secrets: shown.filter((each) => each.includes('secret')) }
  }

  test('is not part of the output: what is beside a call is judged with the answer', async () => {
    const { output, messages } = await watched([aside, 'fine', 'all fine'])
    expect(output).toBe('all fine')
    expect(messages?.map(({ metadata }) => metadata?.refused !== undefined)).toEqual([
      false,
      true,
      false,
      true,
      false,
      false,
    ])
  })

  test('is judged once: an answer that was accepted before the user steered does not count again', async () => {
    const judged: string[] = []
    const note = (text: string) => {
      judged.push(text)
      if (judged.length === 1) run.steer('And more?')
    }
    const machine = createMachine({
      on: { answer: { actions: ({ event }) => note(event.text) }, 'look.call': taken },
    })
    const { agent } = looking(machine, [[{ text: 'I look' }, look('l')], 'one', 'two'])
    const run = agent.start('Go')
    const { output } = await run.result
    expect([judged, output]).toEqual([['I look\none', 'two'], 'I look\none\ntwo'])
  })

  test.each<[string, Partial<AgentOptions>]>([
    ['at a limit', { maxSteps: 1 }],
    [
      'by a tool that ends it',
      { tools: [tool({ name: 'look', description: '', endsRun: true, execute: () => 'ok' })] },
    ],
  ])('is not part of the output of a run that ends %s', async (_, more) => {
    const { output, answer } = await watched([aside], more)
    expect([output, answer]).toEqual(['', ''])
  })

  test('is not part of the output of a run that fails or is aborted', async () => {
    const failed = await watched([[{ text: 'a secret' }, { error: { message: 'down' } }]])
    const aborted = await watched([[{ text: 'a secret' }, { hang: true }]], {}, undefined, (run) =>
      run.on('chunk', ({ output }) => {
        if (output !== '') run.abort()
      }),
    )
    expect([failed.output, failed.answer, aborted.output, aborted.answer]).toEqual(['', '', '', ''])
  })

  test('is not part of the output if a message of the user cuts it off', async () => {
    const { output } = await watched(
      [[{ text: 'a secret' }, { hang: true }], 'fine', 'all fine'],
      {},
      undefined,
      (run) =>
        run.on('chunk', (chunk) => {
          if (chunk.output === 'a secret') run.steer('Stop it', { when: 'now' })
        }),
    )
    expect(output).toBe('all fine')
  })

  test.each<[string, ScriptTurn[], Partial<AgentOptions> & { isTyped?: boolean }]>([
    ['beside a call', [aside, 'fine', 'all fine'], {}],
    ['of an answer', ['the secret', 'all fine'], {}],
    ['in metadata', [[{ metadata: { logprobs: 'secret' } }, { text: 'secret' }], 'all fine'], {}],
    ['in thinking', [[{ thinking: 'secret' }, { text: 'secret' }], 'all fine'], {}],
    [
      'of a typed answer',
      [[call('a', 'return_result', { word: 'secret' })], [call('b', 'return_result', { word: 'fine' })]],
      { isTyped: true },
    ],
    ['at a limit', [aside], { maxSteps: 1 }],
    ['of a failed run', [[{ text: 'a secret' }, { error: { message: 'down' } }]], {}],
  ])('is not shown where chunks are held: %s', async (_, turns, more) => {
    expect((await watched(turns, more, 'hold')).secrets).toEqual([])
  })

  test('that is accepted after it was held is shown as the output has it', async () => {
    const { agent } = looking({ machine: noSecret, chunks: 'hold' }, [
      [{ text: 'I look' }, look('l')],
      'all fine',
    ])
    let shown = ''
    for await (const chunk of agent.sendStream('Go')) shown += chunk.output
    expect(shown).toBe('I look\nall fine')
  })
})

describe('data of the policy that is not JSON ends the run when it is assigned', () => {
  test.each<[string, unknown]>([
    ['a set', new Set(['web'])],
    ['a date', new Date(0)],
    ['an endless number', Number.POSITIVE_INFINITY],
  ])('%s', async (_, value) => {
    const policy = createMachine({
      context: { value: 1 as unknown },
      on: { 'look.call': { actions: assign({ value }) } },
    })
    const { agent, ran } = looking(policy, [[look('l')], 'done'])
    await expect(agent.send('Go')).rejects.toThrow('The context of the policy must be JSON')
    expect(ran).toEqual([])
  })

  test('a spawned actor', async () => {
    const child = fromPromise(async () => 1)
    const policy = createMachine({
      context: { value: 1 as unknown },
      on: { 'look.call': { actions: assign({ value: ({ spawn }) => spawn(child) }) } },
    })
    const { agent, ran } = looking(policy, [[look('l')], 'done'])
    await expect(agent.send('Go')).rejects.toThrow('The context of the policy must be JSON')
    expect(ran).toEqual([])
  })
})

describe('a delay', () => {
  const expiring = (tags: string) =>
    createMachine({
      initial: 'Verified',
      states: { Verified: { tags, after: { 10: 'Unknown' }, on: { 'look.call': taken } }, Unknown: {} },
    })

  test('that a stored policy would forget is refused when the agent is made', () => {
    expect(() => looking(expiring('approval'), [])).toThrow(
      'The state Verified of the policy has "after", which is forgotten when a run or a chat is stored',
    )
  })

  const event = { type: 'expired' }
  const self = ({ self }: { self: AnyActorRef }) => self

  test.each<[string, object]>([
    ['that it raises', { entry: raise(event, { delay: 10 }) }],
    ['that it sends to itself', { exit: sendTo(self, event, { delay: () => 10 }) }],
    ['that a transition raises', { on: { 'look.call': { actions: raise(event, { delay: 10 }) } } }],
    ['that a named action raises', { always: { guard: () => false, actions: 'expire' } }],
  ])('of an event %s is refused, too', (_, state) => {
    const actions = { expire: raise(event, { delay: 10 }) }
    const machine = (tags: string) =>
      createMachine({ initial: 'A', states: { A: { ...state, tags } }, on: { 'look.call': taken } }, {
        actions,
      } as never)
    expect(() => looking(machine('approval'), [])).toThrow('The state A of the policy has a delayed event')
    expect(() => looking(machine('hold'), [])).not.toThrow()
  })

  test('of a hold is allowed: a hold without an end fails the run', () => {
    expect(() => looking(expiring('hold'), [])).not.toThrow()
  })
})

describe('a machine that was changed while its conversation was stored', () => {
  const open = { on: { 'look.call': taken }, initial: 'A', states: { A: {} } }
  const before = createMachine({ type: 'parallel', states: { Calls: open } })
  const changed: Record<string, AnyStateMachine> = {
    'a region that refuses is new': createMachine({
      type: 'parallel',
      states: { Calls: open, Veto: { initial: 'No', states: { No: { tags: 'refuse' } } } },
    }),
    'a state has states that refuse': createMachine({
      type: 'parallel',
      states: { Calls: { ...open, states: { A: { initial: 'No', states: { No: { tags: 'refuse' } } } } } },
    }),
    'a state that was there is gone': createMachine({
      type: 'parallel',
      states: { Calls: { ...open, initial: 'B', states: { B: {} } } },
    }),
  }

  test.each(Object.entries(changed))('does not let a call pass: %s', async (_, after) => {
    const { policy } = await looking(before, ['hello']).agent.send('Hi')
    const { agent, ran } = looking(after, [[look('l')], 'a', 'b'], { maxSteps: 3 })
    await agent.send('Go', policy ? { policy } : {}).catch(() => {})
    expect(ran).toEqual([])
  })
})

test('a conversation whose policy would return to a state that is gone does not continue', async () => {
  const tainted = (name: string) =>
    createMachine({
      initial: 'Work',
      states: {
        Work: {
          initial: 'Clean',
          states: {
            Clean: { on: { prompt: taken, 'look.call': taken, 'look.done': name } },
            [name]: { on: { answer: taken, prompt: '#away' } },
            last: { type: 'history' },
          },
        },
        Away: { id: 'away', on: { answer: taken, prompt: 'Work.last' } },
      },
    })
  const { agent } = looking(tainted('Tainted'), [[look('l')], 'seen', 'bye'])
  const chat = new Chat(agent)
  await chat.send('Look')
  await chat.send('Wait')
  const changed = looking(tainted('Spoiled'), [[look('l')], 'seen'])
  const again = Chat.from(changed.agent, chat.toJSON())
  await expect(again.send('Go')).rejects.toThrow('its policy remembers')
  expect(changed.ran).toEqual([])
})

test('a run that was held by a check which is gone is refused, and says so', async () => {
  const checking = (invoke: object) =>
    createMachine({
      initial: 'Open',
      states: { Open: { on: { 'look.call': 'Checking' } }, Checking: { tags: 'hold', ...invoke } },
    })
  const never = fromPromise(() => new Promise(() => {}))
  const { agent } = looking(checking({ invoke: { id: 'check', src: never } }), [[look('l')]])
  const run = agent.start('Go')
  await expect.poll(() => JSON.stringify(run.snapshot())).toContain('Holding')
  const snapshot = JSON.parse(JSON.stringify(run.snapshot()))
  run.abort()
  await run.result.catch(() => {})
  const { result } = looking(checking({ after: { 1: 'Open' } }), []).agent.start({ snapshot })
  await expect(result).rejects.toThrow('its policy remembers "check", which the machine does not have')
})

test('an approval that is remembered does not decide on calls that the policy asks about', async () => {
  const ran: string[] = []
  const policy = createMachine({ tags: 'approval', on: { 'pay.call': taken } })
  const pay = tool({ name: 'pay', description: '', needsApproval: true, execute: () => void ran.push('pay') })
  const agent = new Agent(scriptedModel([[call('a', 'pay')], [call('b', 'pay')], 'done']), {
    tools: [pay],
    policy,
  })
  const { pendingApproval } = await agent.send('Go')
  if (!pendingApproval) throw new Error('Nothing waits.')
  const after = await agent.resume(pendingApproval, { a: { approve: true, remember: 'tool' } })
  expect([ran, after.pendingApproval?.calls.map(({ id }) => id)]).toEqual([['pay'], ['b']])
})

test('a fallback model does not get more from the policy than the first', async () => {
  const policy = createMachine({
    initial: 'A',
    states: { A: {}, B: { on: { 'look.call': taken } } },
  })
  const fallback = scriptedModel([[look('l')], 'done'])
  const { agent, ran } = looking(policy, [[{ error: { message: 'down' } }]], { fallback: [fallback] })
  const { messages } = await agent.send('Go')
  expect(ran).toEqual([])
  expect(resultsIn(messages).l).toContain('The call was not made')
})

test('a check that settles after its run was aborted changes nothing', async () => {
  let finish = () => {}
  const check = fromPromise(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
  )
  const policy = createMachine({
    initial: 'Open',
    states: {
      Open: { on: { 'look.call': 'Checking' } },
      Checking: { tags: 'hold', invoke: { src: check, onDone: 'Open' } },
    },
  })
  const { agent, ran } = looking(policy, [[look('l')], 'done'])
  const actor = agent.actor({ prompt: 'Go' })
  const held = new Promise<void>((resolve) => {
    actor.subscribe((snapshot) => snapshot.matches({ Judging: { Calls: 'Holding' } }) && resolve())
  })
  actor.start()
  await held
  actor.send({ type: 'abort' })
  finish()
  await new Promise((resolve) => setImmediate(resolve))
  expect([ran, actor.getSnapshot().output?.status]).toEqual([[], 'aborted'])
})

test('a call that was edited by a person is reported to the policy as it ran', async () => {
  const seen: unknown[] = []
  const policy = createMachine({
    tags: 'approval',
    on: { 'pay.call': taken, 'pay.done': { actions: ({ event }) => void seen.push(event.args) } },
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ euros: z.number() }),
    execute: () => 'paid',
  })
  const agent = new Agent(scriptedModel([[call('p', 'pay', { euros: 5 })], 'done']), { tools: [pay], policy })
  const { pendingApproval } = await agent.send('Go')
  if (!pendingApproval) throw new Error('Nothing waits.')
  await agent.resume(pendingApproval, { p: { approve: true, arguments: { euros: 3 } } })
  expect(seen).toEqual([{ euros: 3 }])
})

test('a component of React continues the policy of its conversation', async () => {
  const ran: string[] = []
  const policy = createMachine({
    initial: 'Clean',
    states: {
      Clean: { on: { 'web.call': taken, 'web.done': 'Tainted', 'mail.call': taken } },
      Tainted: {},
    },
  })
  const named = (name: string) => tool({ name, description: name, execute: () => void ran.push(name) })
  const agent = new Agent(scriptedModel([[call('w', 'web')], 'read', [call('m', 'mail')], 'no']), {
    tools: [named('web'), named('mail')],
    policy,
  })
  const store = new AgentStore<string>(
    (prompt, { history = [], policy: seen }) =>
      agent.start<never>(prompt, { history, ...(seen && { policy: seen }) }),
    {},
  )
  const send = (text: string) =>
    new Promise<void>((resolve) => {
      store.send(text)
      const leave = store.subscribe(() => {
        if (store.getState().status !== 'complete') return
        leave()
        resolve()
      })
    })
  await send('Read it')
  await send('Mail it')
  expect(ran).toEqual(['web'])
})

describe('a tool that the provider runs', () => {
  const serverTools = [webSearch()]
  const open = { on: { 'look.call': taken } }

  test.each<[string, Partial<AgentOptions>]>([
    ['of the agent', { serverTools }],
    ['of prepareStep', { prepareStep: () => ({ settings: { serverTools } }) }],
  ])('is not offered if the policy does not name it: %s', async (_, more) => {
    const { agent, model } = looking(createMachine(open), ['done'], more)
    await expect(agent.send('Go')).rejects.toThrow('the policy cannot be asked about them')
    expect(model.requests).toEqual([])
  })

  test('is offered in the states that name it, and if others are allowed', async () => {
    const naming = createMachine({
      initial: 'Research',
      states: {
        Research: { meta: { settings: { serverTools } }, on: { 'look.call': taken, 'look.done': 'Work' } },
        Work: { on: { 'look.call': taken } },
      },
    })
    const named = looking(naming, [[look('l')], 'done'])
    await named.agent.send('Go')
    expect(named.model.requests.map((request) => request.serverTools)).toEqual([serverTools, undefined])
    const allowed = looking({ machine: createMachine(open), others: 'allow' }, ['done'], { serverTools })
    await allowed.agent.send('Go')
    expect(allowed.model.requests).toHaveLength(1)
  })
})

describe('a message that steers the run', () => {
  const polite = createMachine({
    on: {
      'look.call': taken,
      steer: { guard: ({ event }) => !event.text.includes('secret'), ...taken },
    },
  })

  /** Steers a run while its tool is at work, and returns what the model saw. */
  const steered = async (texts: string[], policy: AnyStateMachine, when?: 'now') => {
    const verdicts: unknown[] = []
    const work = tool({
      name: 'look',
      description: '',
      execute: () => {
        for (const text of texts) run.steer(text, when && { when })
      },
    })
    const { agent, model } = looking(policy, [[look('l')], 'done'], { tools: [work] })
    const run = agent.start('Go')
    run.on('policy', ({ gate, verdict, callId }) => {
      if (gate === 'Steering') verdicts.push([verdict, callId])
    })
    const { output } = await run.result
    return { output, verdicts, seen: JSON.stringify(model.requests[1]?.messages) }
  }

  test.each([undefined, 'now' as const])(
    'is asked about at the next gate, and not seen if it is refused',
    async (when) => {
      const { output, verdicts, seen } = await steered(['say the secret', 'be brief'], polite, when)
      expect(output).toBe('done')
      expect(seen).toContain('be brief')
      expect(seen).not.toContain('secret')
      expect(verdicts).toEqual([
        ['refuse', undefined],
        ['pass', undefined],
      ])
    },
  )

  test('is not asked about if the policy does not mention it', async () => {
    const { verdicts, seen } = await steered(['be brief'], createMachine({ on: { 'look.call': taken } }))
    expect(verdicts).toEqual([])
    expect(seen).toContain('be brief')
  })

  test('that comes while the answer is written is judged with it, and answered', async () => {
    const { agent, model } = looking(polite, [[{ text: 'one' }, { hang: true }], 'two'])
    const run = agent.start('Go')
    run.on('chunk', ({ output }) => {
      if (output === 'one') run.steer('the secret', { when: 'now' })
    })
    run.on('chunk', ({ output }) => {
      if (output === 'one') run.abort()
    })
    const error = await run.result.catch((thrown) => thrown)
    expect(JSON.stringify([error.partial.messages, model.requests])).not.toContain('secret')
  })

  test('waits in the store for the policy', async () => {
    const policy = createMachine({
      tags: 'approval',
      on: { 'look.call': taken, steer: { guard: ({ event }) => event.text !== 'secret', ...taken } },
    })
    const first = looking(policy, [[look('l')]])
    const run = first.agent.start('Go')
    run.on('tool.approval', () => {})
    await new Promise<void>((resolve) => run.on('tool.approval', () => resolve()))
    run.steer('secret')
    run.steer('be brief')
    const snapshot = JSON.parse(JSON.stringify(run.snapshot()))
    run.abort()
    await run.result.catch(() => {})
    const { agent, model } = looking(policy, ['done'])
    const again = agent.start({ snapshot, decisions: { l: true } })
    await again.result
    const seen = JSON.stringify(model.requests[0]?.messages)
    expect([seen.includes('be brief'), seen.includes('secret')]).toEqual([true, false])
  })
})
