/** An agent inside a user’s machine: its input, its output and its reports. */
import { describe, expect, test } from 'vitest'
import {
  assign,
  createActor,
  fromPromise,
  type InspectionEvent,
  SimulatedClock,
  sendTo,
  setup,
  toPromise,
  waitFor,
} from 'xstate'
import { z } from 'zod'
import type { AgentOutput, AgentReport } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { recorder } from './sampleTools.ts'
import { idle } from './watching.ts'

type User = { userId: string }

const whoami = (seen: unknown[], needsApproval = false) =>
  tool({
    name: 'whoami',
    description: 'Says who asks',
    needsApproval,
    execute: (_, { context }: ToolContext<User>) => {
      seen.push(context)
      return context.userId
    },
  })

const asksWho: ScriptTurn[] = [[{ toolCall: { id: 'a', name: 'whoami' } }], 'You are Ada.']

const userParent = (machine: Agent<User>['machine']) =>
  setup({
    types: {
      context: {} as { user: User; answer: AgentOutput | null; error: unknown },
      events: {} as AgentReport | { type: 'approve' },
    },
    actors: { agent: machine },
  }).createMachine({
    context: { user: { userId: 'ada' }, answer: null, error: null },
    initial: 'asking',
    states: {
      asking: {
        invoke: {
          id: 'agent',
          src: 'agent',
          input: ({ context }) => ({ prompt: 'Who am I?', context: context.user }),
          onDone: { target: 'answered', actions: assign({ answer: ({ event }) => event.output }) },
          onError: { target: 'broken', actions: assign({ error: ({ event }) => event.error }) },
        },
        on: { approve: { actions: sendTo('agent', { type: 'tool.approve', callId: 'a' }) } },
      },
      answered: { type: 'final' },
      broken: { type: 'final' },
    },
  })

describe('the context of the tools', () => {
  test('comes with the input, and reaches the tools of the run', async () => {
    const seen: unknown[] = []
    const agent = new Agent(scriptedModel(asksWho), { tools: [whoami(seen)] })
    const { context } = await waitFor(
      createActor(userParent(agent.machine)).start(),
      (s) => s.status === 'done',
    )
    expect(context.answer).toMatchObject({ status: 'complete', output: 'You are Ada.' })
    expect(seen).toEqual([{ userId: 'ada' }])
  })

  test('is the very object, and is not stored', async () => {
    const seen: unknown[] = []
    const secret = { userId: 'ada', token: 'hunter2', db: () => 1 }
    const agent = new Agent<User>(scriptedModel(asksWho), { tools: [whoami(seen, true)] })
    const actor = createActor(agent.machine, { input: { prompt: 'Who?', context: secret } }).start()
    await waitFor(actor, (snapshot) => snapshot.hasTag('waiting'))
    expect(JSON.stringify(actor.getPersistedSnapshot())).not.toContain('hunter2')
    actor.send({ type: 'tool.approve', callId: 'a' })
    await toPromise(actor)
    expect(seen[0]).toBe(secret)
  })

  test('reaches the phases of an orchestrator and the tools of sub-agents', async () => {
    const seen: unknown[] = []
    const sub = new Agent(scriptedModel(asksWho), { tools: [whoami(seen)] })
    const agent = new Agent(
      scriptedModel([[{ toolCall: { id: 's', name: 'sub', arguments: { prompt: 'Who?' } } }], 'Ada']),
      { tools: [sub.asTool({ name: 'sub', description: 'Asks' })] },
    )
    await toPromise(
      createActor(agent.machine, { input: { prompt: 'x', context: { userId: 'eve' } } }).start(),
    )
    const typed = agentForCity(asksWho[0] ?? '', seen)
    const machine = typed.machineFor(city)
    await toPromise(createActor(machine, { input: { prompt: 'x', context: { userId: 'bob' } } }).start())
    expect(seen).toEqual([{ userId: 'eve' }, { userId: 'bob' }])
  })

  test('a restored parent gives it again, or the run fails and says how', async () => {
    const seen: unknown[] = []
    const agent = () => new Agent(scriptedModel(asksWho), { tools: [whoami(seen, true)] })
    const parent = createActor(userParent(agent().machine)).start()
    await waitFor(parent, (s) => s.children.agent?.getSnapshot().hasTag('waiting') === true)
    const stored = JSON.parse(JSON.stringify(parent.getPersistedSnapshot()))
    const forgetful = createActor(userParent(agent().machine), { snapshot: stored }).start()
    const { context } = await waitFor(forgetful, (s) => s.status === 'done')
    expect(context.error).toBeInstanceOf(ConfigurationError)
    expect(String(context.error)).toContain('agent.machineFor(schema, { context })')
    const rest = new Agent(scriptedModel(['You are Ada.']), { tools: [whoami(seen, true)] })
    const machine = rest.machineFor(undefined, { context: { userId: 'ada' } })
    const again = createActor(userParent(machine), { snapshot: stored }).start()
    again.send({ type: 'approve' })
    const done = await waitFor(again, (s) => s.status === 'done')
    expect(done.context.answer).toMatchObject({ status: 'complete' })
    expect(seen).toEqual([{ userId: 'ada' }])
  })
})

const city = z.object({
  name: z.string(),
  founded: z.string().transform((year) => new Date(`${year}-01-01`)),
})

const agentForCity = (first: ScriptTurn, seen: unknown[] = []) =>
  new Agent<User>(scriptedModel([first, '{"name":"Oslo","founded":"1048"}']), { tools: [whoami(seen)] })

const cityParent = (agent: Agent) =>
  setup({
    types: { context: {} as { founded: Date | null; status: string } },
    actors: { city: agent.machineFor(city) },
  }).createMachine({
    context: { founded: null, status: '' },
    initial: 'asking',
    states: {
      asking: {
        invoke: {
          src: 'city',
          id: 'city',
          input: { prompt: 'Norway?' },
          onDone: {
            target: 'done',
            actions: assign(({ event: { output } }) => ({
              status: output.status,
              founded: output.status === 'complete' ? output.output.founded : null,
            })),
          },
        },
      },
      done: { type: 'final' },
    },
  })

const oslo = '{"name":"Oslo","founded":"1048"}'

describe('machineFor', () => {
  test.each([
    ['the API takes a schema', {}],
    ['the API takes none', { nativeSchema: false }],
  ])('gives the validated value where %s', async (_, profile) => {
    const turn: ScriptTurn =
      'nativeSchema' in profile
        ? [{ toolCall: { id: 'r', name: 'return_result', arguments: oslo } }]
        : [{ text: oslo }]
    const model = scriptedModel([turn], { profile })
    const { context } = await waitFor(
      createActor(cityParent(new Agent(model))).start(),
      (s) => s.status === 'done',
    )
    expect(context).toEqual({ status: 'complete', founded: new Date('1048-01-01') })
  })

  test('corrects a misfit once, then fails', async () => {
    const good = new Agent(scriptedModel(['{"name":1}', oslo]))
    const actor = createActor(good.machineFor(city), { input: { prompt: 'x' } }).start()
    expect(await toPromise(actor)).toMatchObject({ status: 'complete', output: { name: 'Oslo' } })
    const bad = new Agent(scriptedModel(['{"name":1}', '{"name":2}']))
    const failed = await toPromise(createActor(bad.machineFor(city), { input: { prompt: 'x' } }).start())
    expect(failed).toMatchObject({
      status: 'failed',
      error: { name: 'OutputValidationError', rawOutput: '{"name":2}' },
    })
  })

  test('checks asynchronous schemas, and values that are not objects', async () => {
    const even = z.number().refine(async (n) => n % 2 === 0)
    const run = (text: string) =>
      toPromise(
        createActor(new Agent(scriptedModel([text, text])).machineFor(even), {
          input: { prompt: 'x' },
        }).start(),
      )
    expect(await run('{"value":42}')).toMatchObject({ status: 'complete', output: 42 })
    expect(await run('{"value":41}')).toMatchObject({ status: 'failed' })
  })

  test('is stored as text and restored as a value, in the middle and at the end', async () => {
    const first = createActor(
      new Agent(scriptedModel([[{ text: '{"na' }, { hang: true }]])).machineFor(city),
      {
        input: { prompt: 'x' },
      },
    ).start()
    await idle()
    const middle = JSON.parse(JSON.stringify(first.getPersistedSnapshot()))
    first.stop()
    const machine = new Agent(scriptedModel([oslo])).machineFor(city)
    const actor = createActor(machine, { snapshot: middle, input: {} }).start()
    expect(await toPromise(actor)).toMatchObject({ output: { founded: new Date('1048-01-01') } })
    const end = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))
    expect(end.output.output).toBe(oslo)
    const again = createActor(machine, { snapshot: end, input: {} }).start()
    expect(again.getSnapshot().output).toMatchObject({ output: { founded: new Date('1048-01-01') } })
  })

  test('checks the answer of an orchestrator as well', async () => {
    const own = new Agent(scriptedModel([oslo, '{}']), {
      orchestrator: {
        providerHint: 'own',
        create: ({ config }) => fromPromise(async () => new Agent(config.model).send('x')),
      },
    })
    const run = () => toPromise(createActor(own.machineFor(city), { input: { prompt: 'x' } }).start())
    expect(await run()).toMatchObject({ status: 'complete', output: { name: 'Oslo' } })
    expect(await run()).toMatchObject({ status: 'failed', error: { name: 'OutputValidationError' } })
  })
})

describe('provide', () => {
  test('replaces a part of the chart by its name', async () => {
    const error = { message: 'busy', retryable: true }
    const agent = new Agent(scriptedModel([[{ error }], 'never']), { retry: { maxRetries: 5 } })
    const machine = agent.machine.provide({ guards: { isWorthRetrying: () => false } })
    expect(await toPromise(createActor(machine, { input: { prompt: 'x' } }).start())).toMatchObject({
      status: 'failed',
      error: { message: 'busy' },
    })
  })

  test('refuses a name that the chart does not have, and says which was meant', () => {
    const { machine } = new Agent(scriptedModel([]))
    // @ts-expect-error a guard that the chart does not have
    expect(() => machine.provide({ guards: { isWorthRetryng: () => true } })).toThrow(
      'The chart "agent" has no guards with the name "isWorthRetryng". Did you mean isWorthRetrying?',
    )
    // @ts-expect-error neither does it have delays
    expect(() => machine.provide({ delays: { soon: 1 } })).toThrow(ConfigurationError)
  })
})

describe('a child that this release refuses', () => {
  test('starts and fails, so that onError gets the reason', async () => {
    const agent = () => new Agent<User>(scriptedModel([[{ text: 'a' }, { hang: true }]]))
    const parent = createActor(userParent(agent().machine)).start()
    await idle()
    const stored = JSON.parse(JSON.stringify(parent.getPersistedSnapshot()))
    parent.stop()
    stored.children.agent.snapshot.context.version = '99.0'
    const again = createActor(userParent(agent().machine), { snapshot: stored })
    expect(JSON.parse(JSON.stringify(again.getPersistedSnapshot()))).toEqual(stored)
    again.start()
    const { value, context } = await waitFor(again, (s) => s.status === 'done')
    expect(value).toBe('broken')
    expect(String(context.error)).toContain('its version is "99.0"')
  })

  test('breaks nothing if the parent is stopped before it starts', () => {
    const agent = new Agent<User>(scriptedModel([[{ hang: true }]]))
    const parent = createActor(userParent(agent.machine)).start()
    const stored = JSON.parse(JSON.stringify(parent.getPersistedSnapshot()))
    parent.stop()
    stored.children.agent.snapshot = {}
    expect(() => createActor(userParent(agent.machine), { snapshot: stored }).stop()).not.toThrow()
  })
})

describe('events to the parent', () => {
  test('say when the run waits, works again and is done; none of them is about a chunk', async () => {
    const seen: AgentReport[] = []
    const pieces = Array.from({ length: 200 }, () => ({ text: 'x' }))
    const agent = new Agent(scriptedModel([asksWho[0] ?? '', pieces]), { tools: [whoami([], true)] })
    let events = 0
    const parent = createActor(userParent(agent.machine), {
      inspect: (event) => {
        if (event.type !== '@xstate.event' || event.actorRef !== parent) return
        events += 1
        const sent = event.event as AgentReport
        if (sent.type.startsWith('agent.')) seen.push(sent)
      },
    })
    parent.start()
    await waitFor(parent, (s) => s.children.agent?.getSnapshot().hasTag('waiting') === true)
    parent.send({ type: 'approve' })
    await waitFor(parent, (s) => s.status === 'done')
    expect(seen).toMatchObject([
      { type: 'agent.waiting', id: 'agent', calls: [{ id: 'a', name: 'whoami', kind: 'approval' }] },
      { type: 'agent.working', id: 'agent' },
      { type: 'agent.done', id: 'agent', output: { status: 'complete', output: 'x'.repeat(200) } },
    ])
    // Its start, the command, the three reports, and the end of the child.
    expect(events).toBe(6)
  })

  test('lead to a state, also of a spawned run, and carry typed values', async () => {
    const machine = setup({
      types: { events: {} as AgentReport<z.infer<typeof city>>, context: {} as { year: number } },
      actors: { city: new Agent(scriptedModel([oslo])).machineFor(city) },
    }).createMachine({
      context: ({ spawn }) => {
        spawn('city', { id: 'spawned', input: { prompt: 'x' } })
        return { year: 0 }
      },
      on: {
        'agent.done': {
          actions: assign({
            year: ({ event: { output } }) =>
              output.status === 'complete' ? output.output.founded.getUTCFullYear() : -1,
          }),
        },
      },
    })
    const { context } = await waitFor(createActor(machine).start(), (s) => s.context.year !== 0)
    expect(context.year).toBe(1048)
  })

  test('report a run that ends at once, and no wait that onApproval decides on', async () => {
    const types = (agent: Agent<User>) => {
      const seen: string[] = []
      const parent = createActor(userParent(agent.machine), {
        inspect: (event) => {
          if (event.type === '@xstate.event' && event.event.type.startsWith('agent.'))
            seen.push(event.event.type)
        },
      }).start()
      return waitFor(parent, (s) => s.status === 'done').then(() => seen)
    }
    const nothing = new Agent<User>(scriptedModel([]), { limits: { toolCalls: 0 } })
    expect(await types(nothing)).toEqual(['agent.done'])
    const decided = new Agent(scriptedModel(asksWho), {
      tools: [whoami([], true)],
      onApproval: () => ({ approve: true }),
    })
    expect(await types(decided)).toEqual(['agent.done'])
  })
})

describe('inspect and clock of an agent', () => {
  const kinds = (events: InspectionEvent[]) =>
    events.flatMap((event) =>
      event.type === '@xstate.actor' && 'id' in event.actorRef ? [event.actorRef.id] : [],
    )

  test('see and time its runs inside a machine that has neither', async () => {
    const events: InspectionEvent[] = []
    const clock = new SimulatedClock()
    const model = scriptedModel(
      [[{ toolCall: { id: 'a', name: 'echo' } }], [{ text: 'a' }, { delayMs: 1_000 }, { text: 'b' }]],
      { clock },
    )
    const agent = new Agent<User>(model, {
      clock,
      tools: [recorder().tool],
      inspect: (event) => void events.push(event),
    })
    const durations: number[] = []
    const parent = createActor(userParent(agent.machine)).start()
    const { agent: child } = parent.getSnapshot().children
    child?.on('step', ({ metrics }) => durations.push(metrics.durationMs))
    await expect.poll(() => child?.getSnapshot().context.answer.chunks).toBe(1)
    clock.increment(1_000)
    await waitFor(parent, (s) => s.status === 'done')
    expect(kinds(events)).toEqual(['agent', 'model', 'toolExecutor', 'call:a', 'model'])
    expect(events.every(({ actorRef }) => actorRef !== parent)).toBe(true)
    expect(events.some(({ type }) => type === '@xstate.microstep')).toBe(true)
    const last = events.at(-1)
    expect(last).toMatchObject({ type: '@xstate.snapshot', snapshot: { status: 'done' } })
    expect(durations).toEqual([0, 1_000])
  })

  test('are asked once by a run inside a run, and no longer than it lasts', async () => {
    const events: InspectionEvent[] = []
    const inspect = (event: InspectionEvent) => void events.push(event)
    const sub = new Agent(scriptedModel(['inner']), { name: 'sub', inspect })
    const call = { toolCall: { id: 's', name: 'ask', arguments: { prompt: 'x' } } }
    const agent = new Agent(scriptedModel([[call], 'ok']), {
      name: 'outer',
      inspect,
      tools: [sub.asTool({ name: 'ask', description: 'Asks' })],
    })
    await agent.send('x')
    expect(kinds(events).filter((id) => id === 'sub')).toHaveLength(1)
    expect(new Set(events).size).toBe(events.length)
  })

  test('see nothing of pure functions', async () => {
    const { initialTransition } = await import('xstate')
    const events: InspectionEvent[] = []
    const agent = new Agent(scriptedModel(['x']), { inspect: (event) => void events.push(event) })
    initialTransition(agent.machine, { prompt: 'x' })
    expect(events).toEqual([])
  })
})
