/** An agent as actor logic of XState 6: the newest one that the registry has. */
// The types of XState 6 do not fit `exactOptionalPropertyTypes` yet: app.test.ts checks the types, of an app without it.
import { describe, expect, test } from 'vitest'
import { createActor as createActor5, toPromise as toPromise5 } from 'xstate'
import { createActor, createMachine, type InspectionEvent, setup, toPromise, types, waitFor } from 'xstate6'
import { z } from 'zod'
import type { AgentOutput, AgentReport } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { agentLogic } from '../../src/xstate6/index.ts'

type User = { userId: string }

const whoami = (seen: unknown[] = []) =>
  tool({
    name: 'whoami',
    description: 'Says who asks',
    needsApproval: true,
    execute: (_, { context }: ToolContext<User>) => {
      seen.push(context)
      return context.userId
    },
  })

const turns: ScriptTurn[] = [
  [{ text: 'Let me look.' }, { toolCall: { id: 'a', name: 'whoami' } }],
  [{ text: 'You are ' }, { text: 'Ada.' }],
]

const agent = (script: readonly ScriptTurn[] = turns, seen: unknown[] = []) =>
  new Agent(scriptedModel(script), { tools: [whoami(seen)] })

/** Waits for a decision, passes it on, and keeps what came of it. */
const parentOf = (logic: ReturnType<typeof agentLogic<User>>) =>
  setup({
    schemas: {
      context: types<{ answer: AgentOutput | null; error: string; asked: string[] }>(),
      events: {
        approve: types<object>(),
        leave: types<object>(),
        'agent.waiting': types<Omit<Extract<AgentReport, { type: 'agent.waiting' }>, 'type'>>(),
        'agent.working': types<{ id: string }>(),
        'agent.done': types<Omit<Extract<AgentReport, { type: 'agent.done' }>, 'type'>>(),
      },
    },
    actors: { agent: logic },
  }).createMachine({
    context: { answer: null, error: '', asked: [] },
    initial: 'asking',
    states: {
      asking: {
        invoke: {
          id: 'agent',
          src: 'agent',
          input: { prompt: 'Who am I?', context: { userId: 'ada' } },
          onDone: ({ context, output }) => ({ target: 'answered', context: { ...context, answer: output } }),
          onError: ({ context, event }) => ({
            target: 'broken',
            context: { ...context, error: String(event.error) },
          }),
        },
        on: {
          approve: ({ children }) => {
            children.agent?.send({ type: 'tool.approve', callId: 'a' })
          },
          leave: { target: 'left' },
          'agent.waiting': ({ context, event }) => ({
            context: { ...context, asked: event.calls.map(({ name }) => name) },
          }),
        },
      },
      answered: { type: 'final' },
      broken: { type: 'final' },
      left: { type: 'final' },
    },
  })

const isWaiting = (snapshot: { context: { asked: string[] } }) => snapshot.context.asked.length > 0

describe('an agent in XState 6', () => {
  test('is invoked, waits, gets a decision from its parent, and its output comes with onDone', async () => {
    const seen: unknown[] = []
    const parent = createActor(parentOf(agentLogic(agent(turns, seen)))).start()
    const { context } = await waitFor(parent, isWaiting)
    expect(context.asked).toEqual(['whoami'])
    parent.send({ type: 'approve' })
    const done = await waitFor(parent, ({ status }) => status === 'done')
    expect(done.value).toBe('answered')
    expect(done.context.answer).toMatchObject({ status: 'complete', output: 'Let me look.\nYou are Ada.' })
    expect(seen).toEqual([{ userId: 'ada' }])
  })

  test('emits its chunks, and shows its states as plain data', async () => {
    const actor = createActor(agentLogic(new Agent(scriptedModel([[{ text: 'a' }, { text: 'b' }]]))), {
      input: { prompt: 'Go' },
    })
    let text = ''
    const states: unknown[] = []
    actor.on('chunk', ({ output }) => {
      text += output
    })
    actor.subscribe(({ value }) => states.push(value))
    actor.start()
    expect(await toPromise(actor)).toMatchObject({ status: 'complete', output: 'ab' })
    expect(text).toBe('ab')
    expect(states).toContainEqual({ Accumulating: 'Streaming' })
    expect(states.at(-1)).toBe('Complete')
  })

  test('is spawned, and aborted by a command', async () => {
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    const logic = agentLogic(new Agent(model))
    const machine = createMachine({
      entry: (_, enq) => {
        enq.spawn(logic, { id: 'agent', input: { prompt: 'Go' } })
      },
    })
    const parent = createActor(machine).start()
    const child = parent.getSnapshot().children.agent
    await expect.poll(() => child?.getSnapshot().tags.has('streaming')).toBe(true)
    child?.send({ type: 'abort', reason: 'enough' })
    expect(child?.getSnapshot().output).toMatchObject({ status: 'aborted', reason: 'enough', output: 'a' })
    expect(model.closed).toBe(1)
  })

  test('ends with the state that invoked it: the connection is closed', async () => {
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    const parent = createActor(parentOf(agentLogic(new Agent<User>(model)))).start()
    await expect.poll(() => model.requests.length).toBe(1)
    parent.send({ type: 'leave' })
    expect(parent.getSnapshot().value).toBe('left')
    expect(model.closed).toBe(1)
  })

  test('is stored and restored with its parent, in the middle of an answer and of a wait', async () => {
    const hanging = createActor(
      parentOf(agentLogic(new Agent<User>(scriptedModel([[{ text: 'a' }, { hang: true }]])))),
    ).start()
    const context = { userId: 'ada' }
    await expect
      .poll(() => hanging.getSnapshot().children.agent?.getSnapshot().tags.has('streaming'))
      .toBe(true)
    const middle = JSON.parse(JSON.stringify(hanging.getPersistedSnapshot()))
    hanging.stop()
    const rest = agentLogic(new Agent<User>(scriptedModel(['whole'])), { context })
    const again = createActor(parentOf(rest), { snapshot: middle }).start()
    const done = await waitFor(again, ({ status }) => status === 'done')
    expect(done.context.answer).toMatchObject({ output: 'whole' })

    const waiting = createActor(parentOf(agentLogic(agent()))).start()
    await waitFor(waiting, isWaiting)
    const stored = JSON.parse(JSON.stringify(waiting.getPersistedSnapshot()))
    waiting.stop()
    const seen: unknown[] = []
    const resumed = createActor(parentOf(agentLogic(agent(['Ada.'], seen), { context })), {
      snapshot: stored,
    }).start()
    resumed.send({ type: 'approve' })
    const end = await waitFor(resumed, ({ status }) => status === 'done')
    expect(end.context.answer).toMatchObject({ status: 'complete' })
    expect(seen).toEqual([context])
  })

  test('has the snapshots of XState 5: a run moves from one to the other', async () => {
    const six = createActor(agentLogic(agent()), {
      input: { prompt: 'x', context: { userId: 'ada' } },
    }).start()
    await expect.poll(() => six.getSnapshot().tags.has('waiting')).toBe(true)
    const stored = JSON.parse(JSON.stringify(six.getPersistedSnapshot()))
    six.stop()
    const machine = agent(['Ada.']).machineFor(undefined, { context: { userId: 'ada' } })
    const five = createActor5(machine, { snapshot: stored, input: { context: { userId: '' } } }).start()
    five.send({ type: 'tool.approve', callId: 'a' })
    expect(await toPromise5(five)).toMatchObject({ status: 'complete' })
  })

  test('a run that this release refuses starts and fails: onError gets the reason', async () => {
    const parent = createActor(parentOf(agentLogic(agent()))).start()
    await waitFor(parent, isWaiting)
    const stored = JSON.parse(JSON.stringify(parent.getPersistedSnapshot()))
    parent.stop()
    const text = JSON.stringify(stored).replace(/"version":"4\.\d+"/, '"version":"99.0"')
    const again = createActor(parentOf(agentLogic(agent(), { context: { userId: 'ada' } })), {
      snapshot: JSON.parse(text),
    }).start()
    const { value, context } = await waitFor(again, ({ status }) => status === 'done')
    expect(value).toBe('broken')
    expect(context.error).toContain('its version is "99.0"')
  })

  test('gives the validated value of a schema', async () => {
    const city = z.object({
      name: z.string(),
      founded: z.string().transform((year) => new Date(`${year}-01-01`)),
    })
    const logic = agentLogic(new Agent(scriptedModel(['{"name":"Oslo","founded":"1048"}'])), { schema: city })
    const output = await toPromise(createActor(logic, { input: { prompt: 'x' } }).start())
    expect(output.status === 'complete' && output.output.founded.getUTCFullYear()).toBe(1048)
  })

  test('is seen by the inspector of its system, transition by transition', async () => {
    const events: InspectionEvent[] = []
    const actor = createActor(agentLogic(new Agent(scriptedModel(['ok']))), {
      input: { prompt: 'x' },
      inspect: (event) => void events.push(event),
    }).start()
    await toPromise(actor)
    expect(events[0]).toMatchObject({ type: '@xstate.actor', snapshot: { status: 'active' } })
    const seen = events.flatMap((event) => (event.type === '@xstate.transition' ? [event.snapshot] : []))
    expect(seen.at(-1)).toMatchObject({ status: 'done', value: 'Complete' })
    expect(seen).toContainEqual(expect.objectContaining({ value: { Accumulating: 'Streaming' } }))
  })

  test('a broken input is a failed output, at once', async () => {
    const actor = createActor(agentLogic(new Agent(scriptedModel([]))), { input: {} }).start()
    expect(await toPromise(actor)).toMatchObject({ status: 'failed', error: { name: 'ConfigurationError' } })
  })
})
