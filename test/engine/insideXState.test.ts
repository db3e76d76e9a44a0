import { describe, expect, test } from 'vitest'
import { assign, createActor, type InspectionEvent, setup, toPromise, waitFor } from 'xstate'
import type { AgentOutput } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { gated, recorder } from './sampleTools.ts'
import { idle, watch } from './watching.ts'

const call: ScriptTurn = [{ text: 'Let me look.' }, { toolCall: { id: 'a', name: 'echo' } }]

const parentOf = (agent: Agent) =>
  setup({
    types: { context: {} as { answer: AgentOutput | null }, events: {} as { type: 'stop' } },
    actors: { agent: agent.machine },
  }).createMachine({
    context: { answer: null },
    initial: 'asking',
    states: {
      asking: {
        invoke: {
          id: 'agent',
          src: 'agent',
          input: { prompt: 'Go' },
          onDone: { target: 'answered', actions: assign({ answer: ({ event }) => event.output }) },
        },
        on: { stop: 'stopped' },
      },
      answered: { type: 'final' },
      stopped: { type: 'final' },
    },
  })

describe('inside a user’s own machine', () => {
  test('the agent is invoked like any other and its output comes with onDone', async () => {
    const agent = new Agent(scriptedModel([call, [{ text: 'do' }, { text: 'ne' }]]), {
      tools: [recorder().tool],
    })
    const parent = createActor(parentOf(agent)).start()
    const { context } = await waitFor(parent, (snapshot) => snapshot.status === 'done')
    expect(context.answer).toMatchObject({ status: 'complete', output: 'Let me look.\ndone' })
  })

  test('a failed run is a done one as well: failures are values', async () => {
    const parent = createActor(parentOf(new Agent(scriptedModel([[{ error: { message: 'boom' } }]])))).start()
    const { context } = await waitFor(parent, (snapshot) => snapshot.status === 'done')
    expect(context.answer).toMatchObject({ status: 'failed', error: { message: 'boom' } })
  })

  test('leaving the state closes the request and signals the tools', async () => {
    const slow = gated('echo')
    const agent = new Agent(scriptedModel([call]), { tools: [slow.tool] })
    const parent = createActor(parentOf(agent)).start()
    await idle()
    parent.send({ type: 'stop' })
    expect(slow.signals.get('a')?.aborted).toBe(true)
    const model = scriptedModel([[{ text: 'a' }, { hang: true }]])
    const other = createActor(parentOf(new Agent(model))).start()
    await idle()
    other.send({ type: 'stop' })
    expect(model.closed).toBe(1)
  })

  test('the parent is stored and restored with the agent in the middle of its answer', async () => {
    const turns: ScriptTurn[] = [[{ text: 'Hel' }, { delayMs: 5 }, { text: 'lo' }]]
    const parent = createActor(parentOf(new Agent(scriptedModel(turns)))).start()
    await idle()
    const stored = JSON.parse(JSON.stringify(parent.getPersistedSnapshot()))
    parent.stop()
    const again = createActor(parentOf(new Agent(scriptedModel(turns))), { snapshot: stored }).start()
    const { context } = await waitFor(again, (snapshot) => snapshot.status === 'done')
    expect(context.answer).toMatchObject({ output: 'Hello' })
  })

  test('toPromise gives the output of a run', async () => {
    const actor = new Agent(scriptedModel(['ok'])).actor({ prompt: 'Go' })
    actor.start()
    expect(await toPromise(actor)).toMatchObject({ status: 'complete', output: 'ok' })
  })

  test('the inspector sees the model, the executor and each call as actors of their own', async () => {
    const seen: string[] = []
    const inspect = (event: InspectionEvent) => {
      if (event.type === '@xstate.actor' && 'id' in event.actorRef) seen.push(String(event.actorRef.id))
    }
    const agent = new Agent(scriptedModel([call, 'ok']), { tools: [recorder().tool], inspect })
    await agent.send('Go')
    expect(seen).toEqual(expect.arrayContaining(['model', 'toolExecutor', 'call:a']))
  })

  test('the context of every snapshot is JSON data only', async () => {
    const actor = new Agent(scriptedModel([call, [{ text: 'x' }, { error: { message: 'boom' } }]]), {
      tools: [recorder().tool],
    }).actor({ prompt: 'Go' })
    const contexts: unknown[] = []
    actor.subscribe(({ context }) => contexts.push(context))
    actor.start()
    await toPromise(actor)
    for (const context of contexts) expect(JSON.parse(JSON.stringify(context))).toStrictEqual(context)
  })

  test('commands sent from inside a listener are taken after the event that it gets', async () => {
    const read = [
      { type: 'text' as const, text: 'a' },
      { type: 'text' as const, text: 'b' },
    ]
    const model = scriptedModel([[{ text: '.' }, { deltas: read }, { hang: true }]])
    const actor = new Agent(model).actor({ prompt: 'Go' })
    const watched = watch(actor)
    actor.on('chunk', ({ output }) => {
      if (output === 'a') actor.send({ type: 'abort', reason: 'seen enough' })
    })
    actor.start()
    expect(await toPromise(actor)).toMatchObject({ status: 'aborted', output: '.ab' })
    expect(watched.finals).toHaveLength(1)
    expect(watched.chunks.map(({ output }) => output).join('')).toBe('.ab')
    expect(model.closed).toBe(1)
  })
})
