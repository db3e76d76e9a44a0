/** The same app, to the letter, on the oldest and the newest XState 5 and on XState 6. */
// It holds what the three have in common. Only XState 5 has `assign` and `sendTo`, so what its machine would keep is kept beside it.
import { describe, expect, test } from 'vitest'
import { fromRegistry } from '../fromRegistry.ts'
import { oldest } from '../xstate/xstateRange.ts'
import { AppFolder } from './appFolder.ts'

const app = `
import { Agent, answersOf, type ChatModel, machineOf, textOf, tool } from './agents.js'
import { createActor, setup, toPromise, waitFor } from 'xstate'
import { z } from 'zod'

const model: ChatModel = {
  provider: 'own',
  model: 'own',
  profile: { tools: true, parallelTools: true, nativeSchema: true, schemaWithTools: true, thinking: false, attachments: { images: false, pdf: false, audio: false, links: false } },
  stream: ({ messages, outputSchema }, sink) => {
    const text = messages.filter(({ role }) => role === 'user').map(textOf).join(' ')
    const hasCalled = messages.some(({ role }) => role === 'model')
    if (outputSchema) sink.deltas([{ type: 'text', text: '{"euros":12}' }, { type: 'finish', reason: 'stop' }])
    else if (hasCalled) sink.deltas([{ type: 'text', text }, { type: 'finish', reason: 'stop' }])
    else sink.deltas([{ type: 'toolCall', call: { id: 'a', name: 'pay', arguments: { euros: 12 } } }, { type: 'finish', reason: 'toolCalls' }])
    sink.end()
    return () => {}
  },
}
const paid: number[] = []
const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ euros: z.number() }),
  needsApproval: true,
  execute: ({ euros }) => {
    paid.push(euros)
  },
})
const clerk = machineOf(new Agent(model, { tools: [pay] }))
const auditor = answersOf(new Agent(model), z.object({ euros: z.number() }))

const desk = setup({ actors: { clerk, auditor } }).createMachine({
  initial: 'Paying',
  states: {
    Paying: {
      initial: 'Working',
      invoke: {
        id: 'clerk',
        src: 'clerk',
        input: { prompt: 'Pay.' },
        onDone: { target: 'Auditing' },
        onError: { target: 'Broken' },
      },
      states: {
        Working: { on: { 'agent.waiting': { target: 'Waiting' } } },
        Waiting: { on: { 'agent.working': { target: 'Working' } } },
      },
    },
    Auditing: {
      invoke: { id: 'auditor', src: 'auditor', input: { prompt: 'How much?' } },
      on: { 'agent.done': { target: 'Paid' } },
    },
    Paid: { type: 'final' },
    Broken: { type: 'final' },
  },
})

const before = createActor(desk).start()
await waitFor(before, (snapshot) => snapshot.matches({ Paying: 'Waiting' }))
const stored = JSON.stringify(before.getPersistedSnapshot())
before.stop()

const after = createActor(desk, { snapshot: JSON.parse(stored) }).start()
console.log(JSON.stringify(after.getSnapshot().value), paid.length)
const { clerk: child } = after.getSnapshot().children
let answer = ''
child?.on('message', ({ message }) => {
  if (message.role === 'model') answer = textOf(message)
})
child?.send({ type: 'steer', text: 'And say thanks.' })
child?.send({ type: 'tool.approve', callId: 'a' })
const { value } = await waitFor(after, ({ status }) => status === 'done')
console.log(value, paid, answer)

const audit = createActor(auditor, { input: { prompt: 'How much?' } }).start()
const { status, output } = await toPromise(audit)
const euros: number = status === 'complete' ? output.euros : 0
console.log(euros)

// @ts-expect-error there is no such command
audit.send({ type: 'tool.aprove', callId: 'a' })
`

/** The file of the app that says which entry it uses, and how a machine of that XState takes an agent. */
const agents5 = `
import type { Agent, Schema } from 'statewire'
export * from 'statewire'
export const machineOf = (agent: Agent) => agent.machine
export const answersOf = <S extends Schema>(agent: Agent, schema: S) => agent.machineFor(schema)
`
const agents6 = `
import { type Agent, agentLogic, type Schema } from 'statewire/xstate6'
export * from 'statewire/xstate6'
export const machineOf = (agent: Agent) => agentLogic(agent)
export const answersOf = <S extends Schema>(agent: Agent, schema: S) => agentLogic(agent, { schema })
`

const found = await fromRegistry('xstate', oldest)
if ('problem' in found) console.warn(found.problem)

const versions: [title: string, folder: string | undefined, agents: string][] = [
  [oldest, 'folder' in found ? found.folder : undefined, agents5],
  ['5, the installed one', 'node_modules/xstate', agents5],
  ['6', 'node_modules/xstate6', agents6],
]

describe.each(versions)('on XState %s an app that embeds agents', (_, xstate, agents) => {
  test.skipIf(!xstate)(
    'compiles strictly and without casts, waits, is stored, restored, steered and approved',
    async () => {
      const folder = new AppFolder(xstate ?? '', { 'app.ts': app, 'agents.ts': agents })
      try {
        expect(await folder.compile()).toBe('')
        expect(await folder.run('out/app.js')).toBe(
          ['{"Paying":"Waiting"} 0', 'Paid [ 12 ] Pay. And say thanks.', '12', ''].join('\n'),
        )
      } finally {
        folder.remove()
      }
    },
    600_000,
  )
})
