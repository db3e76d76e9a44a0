/** A user's machine with ten agents, restored from every state that they were in together: each goes on from where it was. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type AnyMachineSnapshot, createActor, type Snapshot, setup } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const names = Array.from({ length: 10 }, (_, index) => `agent${index}`)

/** An app whose agents look, ask for a payment, and answer, each at its own pace. */
const app = () => {
  const paid: string[] = []
  const model = scriptedModel([])
  const stream: typeof model.stream = (request, sink) => {
    const answers = request.messages.filter(({ role }) => role === 'model').length
    const calls = ['look', 'pay'].map((name) => [{ toolCall: { id: name, name } }])
    return scriptedModel([calls[answers] ?? [{ text: 'all ' }, { text: 'done' }]]).stream(request, sink)
  }
  const look = tool({
    name: 'look',
    description: 'Looks',
    onInterrupted: 'rerun',
    execute: async (_, { idempotencyKey }) => {
      for (let turns = idempotencyKey.charCodeAt(0) % 5; turns > 0; turns -= 1) await turn()
    },
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    needsApproval: true,
    execute: (_, { idempotencyKey }) => void paid.push(idempotencyKey),
  })
  const agent = new Agent({ ...model, stream }, { tools: [look, pay] })
  const machine = setup({ actors: { agent: agent.machine } }).createMachine({
    type: 'parallel',
    states: Object.fromEntries(
      names.map((name) => [
        name,
        {
          initial: 'Working',
          states: {
            Working: {
              invoke: { id: name, src: 'agent', input: { prompt: name }, onDone: 'Done', onError: 'Broken' },
            },
            Done: { type: 'final' },
            Broken: {},
          },
        },
      ]),
    ),
  })
  return { machine, paid }
}

/** Runs the app to its end, approves what waits, and keeps what could be stored at each turn of the event loop. */
const live = async (snapshot?: Snapshot<unknown>) => {
  const { machine, paid } = app()
  const actor = createActor(machine, snapshot ? { snapshot } : {}).start()
  const stored: string[] = []
  const states = new Set<string>()
  for (let turns = 0; actor.getSnapshot().status === 'active' && turns < 10_000; turns += 1) {
    stored.push(JSON.stringify(actor.getPersistedSnapshot()))
    for (const child of Object.values(actor.getSnapshot().children)) {
      const run: AnyMachineSnapshot | undefined = child?.getSnapshot()
      if (run?.status !== 'active') continue
      states.add(typeof run.value === 'string' ? run.value : (Object.keys(run.value)[0] ?? ''))
      if (turns % 3 === 2 && run.matches('AwaitingApproval'))
        child?.send({ type: 'tool.approve', callId: 'pay' })
    }
    await turn()
  }
  return { stored, states, paid, value: actor.getSnapshot().value, status: actor.getSnapshot().status }
}

const allDone = Object.fromEntries(names.map((name) => [name, 'Done']))

test('every stored moment of ten agents is continued to ten answers, and no payment is lost or made twice', async () => {
  const whole = await live()
  expect([whole.status, whole.value]).toEqual(['done', allDone])
  expect(new Set(whole.paid).size).toBe(10)
  expect([...whole.states]).toEqual(expect.arrayContaining(['AwaitingApproval', 'ToolExecution']))
  expect(whole.stored.length).toBeGreaterThan(5)
  for (const snapshot of new Set(whole.stored)) {
    const again = await live(JSON.parse(snapshot))
    expect([again.status, again.value]).toEqual(['done', allDone])
    // What was paid before it was stored is not paid again.
    expect(new Set(again.paid).size).toBe(again.paid.length)
    expect(again.paid.length).toBeLessThanOrEqual(10)
  }
})
