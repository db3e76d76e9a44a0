/** A sub-agent with `policy: 'inherit'`: the policy of the run that called it judges its calls. */
import { describe, expect, test } from 'vitest'
import { assign, createMachine, fromPromise, type Snapshot, setup, toPromise } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { answered, asked, unanswered } from '../../machines/policy/openQuestions.ts'
import type { PolicyOptions } from '../../machines/policy/policyEvents.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { agentInternals } from '../../src/agent/AgentInternals.ts'
import type { AgentOptions } from '../../src/agent/options.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type Tool, tool } from '../../src/tools/tool.ts'
import { afterKill, opened, storeFile } from '../durable/storeFile.ts'
import { call, refundDesk, resultsIn, verified } from './refunds.ts'

const allow = { actions: () => {} }

/** A tool that notes the calls of it that ran. */
const noting = (name: string, ran: string[]) =>
  tool({
    name,
    description: name,
    onInterrupted: 'rerun',
    execute: (_, { callId }) => void ran.push(`${name} ${callId}`),
  })

/** A model that answers by how far the conversation is, so that it can be asked again. */
const steady = (turns: readonly ScriptTurn[]) => {
  const model = scriptedModel([])
  const stream: typeof model.stream = (request, sink) => {
    const answers = request.messages.filter(({ role }) => role === 'model').length
    return scriptedModel([turns[answers] ?? 'done']).stream(request, sink)
  }
  return { ...model, stream }
}

/** An agent that inherits, as a tool. */
const helper = (
  name: string,
  turns: readonly ScriptTurn[],
  tools: readonly Tool[],
  more: AgentOptions = {},
) =>
  new Agent(steady(turns), { ...more, tools: [...tools], policy: 'inherit' }).asTool({
    name,
    description: name,
  })

const asks = (id: string, name: string) => call(id, name, { prompt: 'Go' })

describe('the calls of a sub-agent', () => {
  const desk = (...turns: ScriptTurn[]) => {
    const { tools, policy, ran } = refundDesk()
    const machine = policy.provide({})
    const sub = helper('desk', turns, tools)
    const rules: PolicyOptions = { machine, others: 'allow' }
    return { ran, agent: new Agent(steady([[asks('d', 'desk')], 'bye']), { tools: [sub], policy: rules }) }
  }

  test('are refused by the policy of the run that called it', async () => {
    const { agent, ran } = desk([call('r', 'refund', { euros: 5 })], 'sorry')
    const { policy } = await agent.send('Refund me')
    expect(ran).toEqual([])
    expect(policy).toMatchObject({ value: 'Unknown', context: { left: 100 } })
  })

  test('move that policy, and count against its budget', async () => {
    const { agent, ran } = desk(verified, [call('r', 'refund', { euros: 60 })], 'paid')
    const { policy } = await agent.send('Refund me')
    expect(ran).toEqual(['verify Ada', 'refund 60'])
    expect(policy).toMatchObject({ value: 'Verified', context: { left: 40 } })
    expect(Object(policy).judging).toEqual({ isOver: false, open: null })
  })

  test('wait for a person where it says so, also over JSON', async () => {
    for (const [isApproved, expected] of [
      [true, ['verify Ada', 'refund 500']],
      [false, ['verify Ada']],
    ] as const) {
      const { agent, ran } = desk(verified, [call('r', 'refund', { euros: 500 })], 'fine')
      const { pendingApproval } = await agent.send('Refund me')
      expect(pendingApproval?.calls).toMatchObject([{ id: 'd/r', name: 'refund' }])
      expect(ran).toEqual(['verify Ada'])
      const stored = JSON.parse(JSON.stringify(pendingApproval))
      const { policy } = await agent.resume(stored, { 'd/r': isApproved })
      expect(ran).toEqual(expected)
      expect(policy?.value).toBe('Verified')
    }
  })
})

test('what a sub-agent has seen taints the run, and what the run has seen taints the sub-agent', async () => {
  const taint = createMachine({
    initial: 'Clean',
    on: { 'reader.call': allow, 'writer.call': allow, 'web.call': allow },
    states: {
      Clean: { on: { 'web.done': 'Tainted', 'mail.call': allow } },
      Tainted: { tags: 'refuse', meta: { reason: 'the web was read' } },
    },
  })
  const open = createMachine({
    initial: 'Clean',
    on: { 'reader.call': allow, 'writer.call': allow, 'web.call': allow },
    states: { Clean: { on: { 'web.done': 'Tainted', 'mail.call': allow } }, Tainted: {} },
  })
  for (const policy of [taint, open]) {
    const ran: string[] = []
    const web = noting('web', ran)
    const mail = noting('mail', ran)
    const reader = helper('reader', [[call('w', 'web')], 'read'], [web])
    const writer = helper('writer', [[call('m', 'mail')], 'written'], [mail])
    const model = steady([[asks('a', 'reader')], [call('m', 'mail'), asks('b', 'writer')], 'done'])
    const agent = new Agent(model, { tools: [reader, writer, mail], policy })
    const { policy: after, messages } = await agent.send('Go')
    expect(ran).toEqual(['web w'])
    // Its answer is a result for the policy, which may withhold it.
    expect(resultsIn(messages).a).toMatch(policy === open ? /^read$/ : /result is withheld: the web was read/)
    expect(after?.value).toBe('Tainted')
  }
})

test('prompts and answers of a sub-agent are not asked, and its calls have the ids that people see', async () => {
  const seen: [string, unknown][] = []
  const policy = createMachine({
    on: { '*': { actions: ({ event }) => void seen.push([event.type, event.callId]) } },
  })
  const inner = helper('inner', [[call('x', 'look')], 'looked'], [noting('look', [])])
  const outer = helper('outer', [[asks('i', 'inner')], 'done'], [inner])
  await new Agent(steady([[asks('o', 'outer')], 'bye']), { tools: [outer], policy }).send('Go')
  expect(seen).toEqual([
    ['prompt', undefined],
    ['outer.call', 'o'],
    ['inner.call', 'o/i'],
    ['look.call', 'o/i/x'],
    ['look.done', 'o/i/x'],
    ['inner.done', 'o/i'],
    ['outer.done', 'o'],
    ['answer', undefined],
  ])
})

describe('a tool of a sub-agent that no state mentions', () => {
  const policy = createMachine({ on: { 'sub.call': allow } })

  test('is refused when the calling agent is made', () => {
    const sub = helper('sub', [], [noting('look', [])])
    expect(() => new Agent(scriptedModel([]), { tools: [sub], policy })).toThrow(
      'No state of the policy mentions look',
    )
  })

  test.each([
    ['refuse', [], undefined],
    ['ask', [], ['s/l']],
    ['allow', ['look l'], undefined],
  ] as const)('follows others: %s', async (others, expected, pending) => {
    const ran: string[] = []
    const sub = helper('sub', [[call('l', 'look')], 'ok'], [noting('look', ran)])
    const agent = new Agent(steady([[asks('s', 'sub')], 'ok']), {
      tools: [sub],
      policy: { machine: policy, others },
    })
    const { pendingApproval } = await agent.send('Go')
    expect(ran).toEqual(expected)
    expect(pendingApproval?.calls.map(({ id }) => id)).toEqual(pending)
  })

  test('which a provider runs itself ends the run of the sub-agent', async () => {
    const model = scriptedModel(['found'])
    const sub = new Agent(model, { serverTools: [{ serverTool: 'webSearch' } as never], policy: 'inherit' })
    const agent = new Agent(steady([[asks('s', 'sub')], 'ok']), {
      tools: [sub.asTool({ name: 'sub', description: 'sub' })],
      policy,
      onToolError: () => {},
    })
    const { messages } = await agent.send('Go')
    expect(resultsIn(messages).s).toContain('server tools')
    expect(model.requests).toHaveLength(0)
  })
})

describe('without a policy above it', () => {
  const alone = () => new Agent(scriptedModel(['hi']), { policy: 'inherit' })

  test.each<[string, () => unknown]>([
    ['a send', () => alone().send('Go')],
    ['an actor', () => alone().actor({ prompt: 'Go' })],
    ['its machine', () => alone().machine],
    ['its chart', () => alone().chart],
  ])('%s is refused', async (_, use) => {
    await expect((async () => use())()).rejects.toBeInstanceOf(ConfigurationError)
  })

  test('no agent takes it as a tool, and none calls one that comes with a send', async () => {
    const ran: string[] = []
    const sub = helper('sub', [[call('l', 'look')], 'ok'], [noting('look', ran)])
    expect(() => new Agent(scriptedModel([]), { tools: [sub] })).toThrow(ConfigurationError)
    const agent = new Agent(steady([[asks('s', 'sub')], 'ok']), { onToolError: () => {} })
    const { messages } = await agent.send('Go', { tools: [sub] })
    expect(resultsIn(messages).s).toContain('has no policy')
    expect(ran).toEqual([])
  })

  test('an executor that runs calls without their actors is refused', async () => {
    const ran: string[] = []
    const sub = helper('sub', [[call('l', 'look')], 'ok'], [noting('look', ran)])
    const agent = new Agent(steady([[asks('s', 'sub')], 'ok']), {
      tools: [sub],
      policy: createMachine({ on: { '*': allow } }),
      onToolError: () => {},
      toolExecutor: {
        executeBatch: async (calls, tools, options) =>
          Promise.all(
            calls.map(async (each) => {
              try {
                const value = await tools.get(each.name)?.execute?.(each.arguments, options as never)
                return { type: 'toolResult', id: each.id, name: each.name, result: String(value) }
              } catch (thrown) {
                return { type: 'toolResult', id: each.id, name: each.name, result: String(thrown) }
              }
            }),
          ) as never,
      },
    })
    const { messages } = await agent.send('Go')
    expect(resultsIn(messages).s).toContain('executor of your own')
    expect(ran).toEqual([])
  })

  test('neither background agents nor orchestrators take it', () => {
    expect(() => alone().asTool({ name: 'b', description: 'b', background: true })).toThrow(
      ConfigurationError,
    )
    const orchestrator = reflectionOrchestrator({ maxRounds: 1 })
    expect(() => new Agent(scriptedModel([]), { policy: 'inherit', orchestrator })).toThrow(
      ConfigurationError,
    )
  })
})

describe('sub-agents in parallel', () => {
  /** A check of each look, which holds the run: the one of the call `bad` refuses it. */
  const checking = (check: (callId: string) => Promise<boolean>) =>
    setup({
      types: { context: {} as { callId: string; seen: string[] }, tags: {} as 'hold' | 'refuse' },
      actors: { check: fromPromise(({ input }: { input: string }) => check(input)) },
      actions: {
        take: assign(({ context, event }) => ({
          callId: event.callId,
          seen: [...context.seen, `${event.type} ${event.callId}`],
        })),
      },
    }).createMachine({
      context: { callId: '', seen: [] },
      initial: 'Open',
      on: { '*': { actions: 'take' } },
      states: {
        Open: { on: { 'look.call': { target: 'Checking', actions: 'take' } } },
        Checking: {
          tags: 'hold',
          invoke: {
            src: 'check',
            input: ({ context }) => context.callId,
            onDone: [{ guard: ({ event }) => event.output === true, target: 'Open' }, { target: 'Bad' }],
          },
        },
        Bad: { tags: 'refuse', on: { 'look.refused': { target: 'Open', actions: 'take' } } },
      },
    })

  const pair = (ran: string[], check: (callId: string) => Promise<boolean>, holdMs = 60_000) => {
    const look = noting('look', ran)
    // Their calls, rounds and ids are the same.
    const one = helper('one', [[call('x', 'look'), call('y', 'look')], [call('z', 'look')], 'ok'], [look])
    const two = helper('two', [[call('x', 'look'), call('y', 'look')], [call('z', 'look')], 'ok'], [look])
    return new Agent(steady([[asks('1', 'one'), asks('2', 'two')], 'ok']), {
      tools: [one, two],
      policy: { machine: checking(check), holdMs },
      toolExecution: 'parallel',
      onToolError: () => {},
    })
  }
  const isGood = (callId: string) => !['1/y', '2/x'].includes(callId)

  /** Runs to the end, and returns the snapshots of all commits and what the policy has seen. */
  const live = async (from: { input: { prompt: string } } | { snapshot: Snapshot<unknown> }) => {
    const ran: string[] = []
    const commits: Snapshot<unknown>[] = []
    const agent = pair(ran, async (callId) => isGood(callId))
    const host = {
      writeAhead: () => void commits.push(JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))),
    }
    const actor = agentInternals(agent).actor(from, {}, { host })
    const ended = new Promise<void>((resolve, reject) =>
      actor.subscribe({ complete: resolve, error: reject }),
    )
    actor.start()
    await ended
    const { output } = actor.getSnapshot()
    const seen: string[] = Object(output?.policy?.context).seen
    return { commits, seen, status: output?.status, ran, judging: Object(output?.policy).judging }
  }

  test('get their own verdicts', async () => {
    const ran: string[] = []
    const agent = pair(ran, async (callId) => isGood(callId))
    const { policy } = await agent.send('Go')
    expect(ran.sort()).toEqual(['look x', 'look y', 'look z', 'look z'])
    const { seen }: { seen: string[] } = Object(policy?.context)
    expect(seen.filter((each) => each.startsWith('look.refused'))).toEqual([
      'look.refused 1/y',
      'look.refused 2/x',
    ])
    expect(seen.filter((each) => each.startsWith('look.done')).sort()).toEqual([
      'look.done 1/x',
      'look.done 1/z',
      'look.done 2/y',
      'look.done 2/z',
    ])
  })

  test('that die at any commit are judged once, and as before', async () => {
    const whole = await live({ input: { prompt: 'Go' } })
    expect(whole.status).toBe('complete')
    const active = whole.commits.filter(({ status }) => status === 'active')
    const texts = active.map((commit) => JSON.stringify(commit))
    expect(texts.filter((text) => text.includes('"Holding"')).length).toBeGreaterThan(4)
    expect(texts.filter((text) => text.includes('"others"')).length).toBeGreaterThan(4)
    expect(texts.filter((text) => text.includes('"Results"')).length).toBeGreaterThan(0)
    const sorted = [...whole.seen].sort()
    for (const snapshot of active) {
      const again = await live({ snapshot })
      expect([again.status, again.seen.toSorted()]).toEqual(['complete', sorted])
      for (const second of again.commits.filter(({ status }) => status === 'active').slice(0, 3)) {
        const third = await live({ snapshot: second })
        expect([third.status, third.seen.toSorted()]).toEqual(['complete', sorted])
      }
    }
  })

  test('do not overtake a call that was taken before a restore', () => {
    const taken = { asker: '["1"]', id: 'a', at: 0, isTaken: true, key: 'x', verdicts: {} }
    const items = [{ key: 'x', mode: 'ask' }] as const
    const stored = { isOver: false, open: taken }
    const other = asked(stored, { type: 'policy.ask', asker: '["2"]', id: 'b', items })
    expect([other.open, unanswered(other).map(({ id }) => id)]).toEqual([taken, ['b']])
    const again = asked(other, { type: 'policy.ask', asker: '["1"]', id: 'a', items })
    expect(again.open).toEqual({ ...taken, items })
    expect(answered(again).open?.id).toBe('b')
    // A run that asks has no sub-agent left that could ask again.
    expect(asked(other, { type: 'policy.ask', id: 'c', items }).open?.id).toBe('c')
  })

  test('wait for the check of the other one, for holdMs at most', async () => {
    const ran: string[] = []
    const held = pair(ran, () => new Promise(() => {}), 20)
    await expect(held.send('Go')).rejects.toMatchObject({ code: 'policy_timeout' })
    expect(ran).toEqual([])
  })

  test('continue in another process', async () => {
    const path = storeFile()
    const before: string[] = []
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const hangs = async () => {
      begin()
      return new Promise<boolean>(() => {})
    }
    const runs = await opened(path, { pair: pair(before, hangs) })
    await runs.start('pair', 'Go', { id: 'job' })
    await begun
    const copy = afterKill(path)
    const after: string[] = []
    const checked: string[] = []
    const check = async (callId: string) => {
      checked.push(callId)
      return isGood(callId)
    }
    const again = await opened(copy, { pair: pair(after, check) })
    expect((await (await again.get('job'))?.result)?.output).toBe('ok')
    expect(before).toEqual([])
    expect(after.sort()).toEqual(['look x', 'look y', 'look z', 'look z'])
    // The check that was cut off runs again; no call is judged twice.
    expect(checked.sort()).toEqual(['1/x', '1/y', '1/z', '2/x', '2/y', '2/z'])
  })
})

test('a sub-agent whose time is up during a check leaves the policy in order', async () => {
  const ran: string[] = []
  let end = () => {}
  const check = new Promise<void>((resolve) => {
    end = resolve
  })
  const policy = setup({
    actors: { check: fromPromise(() => check) },
    types: { tags: {} as 'hold' | 'refuse' },
  }).createMachine({
    initial: 'Open',
    on: { 'sub.call': allow, 'peek.call': allow },
    states: {
      Open: { on: { 'look.call': 'Checking' } },
      Checking: { tags: 'hold', invoke: { src: 'check', onDone: 'Bad' } },
      Bad: { tags: 'refuse', on: { 'look.refused': 'Open' } },
    },
  })
  const sub = new Agent(steady([[call('l', 'look'), call('l2', 'look')]]), {
    tools: [noting('look', ran)],
    policy: 'inherit',
  }).asTool({ name: 'sub', description: 'sub', timeoutMs: 20 })
  const agent = new Agent(steady([[asks('s', 'sub')], [call('p', 'peek')], 'ok']), {
    tools: [sub, noting('peek', ran)],
    policy: { machine: policy, others: 'refuse' },
    onToolError: () => {},
  })
  const run = agent.start('Go')
  run.on('tool.result', end)
  expect((await run.result).policy?.value).toBe('Open')
  expect(ran).toEqual(['peek p'])
})

test('a stored sub-agent whose policy was cut out does not continue', async () => {
  const ran: string[] = []
  const sub = helper('sub', [[call('l', 'look')], 'ok'], [noting('look', ran)])
  const policy = { machine: createMachine({ on: { 'sub.call': allow } }), others: 'ask' } as const
  const model = steady([[asks('s', 'sub')], 'ok'])
  const agent = new Agent(model, { tools: [sub], policy, onToolError: () => {} })
  const { pendingApproval } = await agent.send('Go')
  if (!pendingApproval) throw new Error('nothing is pending')
  const cut = (value: unknown, isBelow: boolean): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((each) => cut(each, isBelow))
    const kept = Object.entries(value).filter(([key]) => !isBelow || key !== 'policy')
    return Object.fromEntries(kept.map(([key, each]) => [key, cut(each, isBelow || key === 'runs')]))
  }
  const whole = JSON.parse(JSON.stringify(pendingApproval))
  const { messages } = await agent.resume({ ...whole, ...Object(cut(whole, false)) }, { 's/l': true })
  expect(resultsIn(messages).s).toContain('it has no policy')
  expect(ran).toEqual([])
})

test('an engine that replays runs from their records is refused', async () => {
  const ran: string[] = []
  const sub = helper('sub', [[call('l', 'look')], 'ok'], [noting('look', ran)])
  const agent = new Agent(steady([[asks('s', 'sub')], 'ok']), {
    tools: [sub],
    policy: createMachine({ on: { '*': allow } }),
    onToolError: () => {},
  })
  let ids = 0
  const host = { newId: () => `${ids++}` }
  const actor = agentInternals(agent).actor({ input: { prompt: 'Go' } }, {}, { host })
  const { messages } = await toPromise(actor.start())
  expect(resultsIn(messages).s).toContain('replayed from its records')
  expect(ran).toEqual([])
})
