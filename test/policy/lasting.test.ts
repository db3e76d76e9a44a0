/** A policy lasts as long as the conversation: over sends, stores, phases, processes and deaths. */
import { describe, expect, test } from 'vitest'
import { assign, createMachine, fromPromise, type Snapshot, setup } from 'xstate'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { agentInternals } from '../../src/agent/AgentInternals.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { AgentChats } from '../../src/ui/AgentChats.ts'
import { WaitingRuns } from '../../src/ui/WaitingRuns.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { call, refundDesk, resultsIn, verified } from './refunds.ts'

const refund: ScriptTurn = [call('r', 'refund', { euros: 60 })]

const desk = (...turns: ScriptTurn[]) => {
  const { tools, policy, ran } = refundDesk()
  const model = scriptedModel(turns)
  return { ran, model, agent: new Agent(model, { tools, policy }) }
}

describe('a chat', () => {
  test('passes the policy on from one send to the next', async () => {
    const { agent, ran } = desk(verified, 'hello', refund, 'paid')
    const chat = new Chat(agent)
    await chat.send('I am Ada')
    await chat.send('Refund me')
    expect(ran).toEqual(['verify Ada', 'refund 60'])
  })

  test('that was stored has its policy', async () => {
    const first = desk(verified, 'hello')
    const chat = new Chat(first.agent)
    await chat.send('I am Ada')
    const { agent, ran } = desk(refund, 'paid')
    const again = Chat.from(agent, JSON.parse(JSON.stringify(chat)))
    await again.send('Refund me')
    expect(ran).toEqual(['refund 60'])
    expect(again.toJSON().policy).toMatchObject({ value: 'Verified', context: { left: 40 } })
  })

  test('keeps what the policy has seen in an answer that failed, was aborted or was left', async () => {
    const { agent, ran } = desk(
      verified,
      'hello',
      refund,
      [{ error: { message: 'down' } }],
      [call('r2', 'refund', { euros: 60 })],
      'sorry',
    )
    const chat = new Chat(agent)
    await chat.send('I am Ada')
    await expect(chat.send('Refund me')).rejects.toThrow('down')
    const { pendingApproval } = await chat.send('Refund me')
    expect(pendingApproval?.calls).toHaveLength(1)
    expect(ran).toEqual(['verify Ada', 'refund 60'])
  })

  test('whose policy has ended in a state that refuses stays closed', async () => {
    const policy = createMachine({
      initial: 'Open',
      states: {
        Open: {
          on: {
            prompt: [{ guard: ({ event }) => event.text === 'bad', target: 'Shut' }, { actions: () => {} }],
          },
        },
        Shut: { type: 'final', tags: 'refuse' },
      },
    })
    const model = scriptedModel(['hello'])
    const chat = new Chat(new Agent(model, { policy }))
    await chat.send('good')
    await expect(chat.send('bad')).rejects.toMatchObject({ code: 'policy_refused' })
    await expect(chat.send('good')).rejects.toMatchObject({ code: 'policy_refused' })
    expect(model.requests).toHaveLength(1)
  })
})

test('a chat in a store passes the policy on, also to another process', async () => {
  const path = storeFile()
  const first = desk(verified, 'hello')
  const runs = await opened(path, { agent: first.agent })
  await (await (await runs.chat('ada')).send('I am Ada')).result
  await runs.close()
  const second = desk(refund, 'paid', [call('r2', 'refund', { euros: 60 })])
  const again = await opened(path, { agent: second.agent })
  const chat = await again.chat('ada')
  await (await chat.send('Refund me')).result
  expect(second.ran).toEqual(['refund 60'])
  const run = await chat.regenerate()
  await expect.poll(async () => (await run.info()).status).toBe('waiting')
  // Nothing of a run that waits for a person is kept in memory.
  expect(await chat.pending()).toMatchObject([{ name: 'refund' }])
  await again.close()
})

test('a page that keeps the conversation itself does not decide what the policy has seen', async () => {
  const { agent, ran } = desk(verified, 'hello', refund, 'paid', refund, 'no')
  const chats = new AgentChats(agent, new WaitingRuns(10, Number.POSITIVE_INFINITY))
  const ask = async (chat: string, text: string) => {
    const turn = await chats.ask(
      chat,
      { prompt: [{ type: 'text', text }], history: [], asked: [], intent: 'new' },
      { context: undefined },
    )
    await turn.follow({
      onEvent: () => {},
      ready: async () => {},
      signal: new AbortController().signal,
    })
  }
  await ask('a', 'I am Ada')
  await ask('a', 'Refund me')
  await ask('b', 'Refund me')
  expect(ran).toEqual(['verify Ada', 'refund 60'])
})

describe('the phases of an orchestrator', () => {
  const logging = createMachine({
    context: { seen: [] as string[] },
    on: { '*': { actions: assign({ seen: ({ context, event }) => [...context.seen, event.type] }) } },
  })
  const look = tool({ name: 'look', description: 'Looks', execute: () => 'a view' })

  test('share one policy, which is asked about the prompt once and about the answer only', async () => {
    const schema = { jsonSchema: { type: 'object', properties: { n: { type: 'number' } } } }
    const model = scriptedModel([[call('l', 'look')], 'I found 1', '{"n":1}'], {
      profile: { schemaWithTools: false },
    })
    const { policy } = await new Agent(model, { tools: [look], policy: logging }).sendFor('Count', schema)
    expect(policy?.context).toEqual({ seen: ['prompt', 'look.call', 'look.done', 'answer'] })
  })

  test('that only criticise are not asked', async () => {
    const model = scriptedModel([[call('l', 'look')], 'draft', 'could be better', 'final', 'APPROVED'])
    const agent = new Agent(model, {
      tools: [look],
      policy: logging,
      orchestrator: reflectionOrchestrator({ maxRounds: 1 }),
    })
    const { policy } = await agent.send('Write')
    expect(policy?.context).toEqual({ seen: ['prompt', 'look.call', 'look.done', 'answer', 'answer'] })
  })
})

test('a sub-agent has its own policy, and the policy of the agent sees its call', async () => {
  const { tools, policy, ran } = refundDesk()
  const inner = new Agent(scriptedModel([[call('r', 'refund', { euros: 5 })], 'could not']), {
    tools,
    policy,
  })
  const outer = createMachine({
    context: { seen: [] as string[] },
    on: { 'desk.*': { actions: assign({ seen: ({ context, event }) => [...context.seen, event.type] }) } },
  })
  const model = scriptedModel([[call('d', 'desk', { prompt: 'Refund' })], 'done'])
  const agent = new Agent(model, {
    tools: [inner.asTool({ name: 'desk', description: 'Refunds' })],
    policy: outer,
  })
  const { policy: after } = await agent.send('Go')
  expect(after?.context).toEqual({ seen: ['desk.call', 'desk.done'] })
  expect(ran).toEqual([])
})

describe('death at every commit', () => {
  const seenBy = setup({
    types: { context: {} as { seen: string[] } },
    actors: { check: fromPromise(async () => 'fine') },
    actions: { log: assign({ seen: ({ context, event }) => [...context.seen, event.type] }) },
  }).createMachine({
    context: { seen: [] },
    initial: 'Open',
    on: { '*': { actions: 'log' } },
    states: {
      Open: { on: { 'b.call': { target: 'Checking', actions: 'log' } } },
      Checking: { tags: 'hold', invoke: { id: 'check', src: 'check', onDone: 'Open', onError: 'Bad' } },
      Bad: { tags: 'refuse' },
    },
  })
  const turns: ScriptTurn[] = [[call('1', 'a'), call('2', 'b'), call('3', 'a')], [call('4', 'b')], 'done']

  /** A model that answers by how far the conversation is, so that it can be asked again. */
  const agentWith = (ran: string[]) => {
    const made = (name: string) =>
      tool({
        name,
        description: name,
        onInterrupted: 'rerun',
        execute: (_, { callId }) => void ran.push(callId),
      })
    const model = scriptedModel([])
    const stream: typeof model.stream = (request, sink) => {
      const answers = request.messages.filter(({ role }) => role === 'model').length
      return scriptedModel([turns[answers] ?? 'done']).stream(request, sink)
    }
    return new Agent({ ...model, stream }, { tools: [made('a'), made('b')], policy: seenBy })
  }

  /** Runs to the end, and returns the snapshots of all commits and what the policy has seen. */
  const live = async (from: { input: { prompt: string } } | { snapshot: Snapshot<unknown> }) => {
    const ran: string[] = []
    const commits: Snapshot<unknown>[] = []
    const agent = agentWith(ran)
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
    return { commits, seen: Object(output?.policy?.context).seen, status: output?.status, ran }
  }

  test('the policy sees the same events, each once', async () => {
    const whole = await live({ input: { prompt: 'Go' } })
    expect(whole.seen).toEqual([
      'prompt',
      'a.call',
      'b.call',
      'a.call',
      'a.done',
      'b.done',
      'a.done',
      'b.call',
      'b.done',
      'answer',
    ])
    expect(whole.commits.length).toBeGreaterThan(15)
    const holds = whole.commits.filter((commit) => JSON.stringify(Object(commit).value).includes('Holding'))
    expect(holds.length).toBeGreaterThan(0)
    for (const snapshot of whole.commits.filter(({ status }) => status === 'active')) {
      const again = await live({ snapshot })
      expect([again.status, again.seen]).toEqual(['complete', whole.seen])
      for (const second of again.commits.filter(({ status }) => status === 'active').slice(0, 3)) {
        const third = await live({ snapshot: second })
        expect([third.status, third.seen]).toEqual(['complete', whole.seen])
      }
    }
  })
})

test('a refused call is in the conversation of the next send', async () => {
  const { agent } = desk(refund, 'sorry', 'bye')
  const chat = new Chat(agent)
  await chat.send('Refund me')
  await chat.send('Bye')
  expect(resultsIn(chat.history).r).toContain('The call was not made')
})
