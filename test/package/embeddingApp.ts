import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fromRegistry } from '../fromRegistry.ts'
import { runProgram } from '../runScript.ts'

/** An app with agents inside, and every entry that needs no other package. It is only compiled. */
const app = `
import { Agent, tool, type AgentOutput, type ChatModel, type ToolContext } from 'statewire'
import type { AgentReport } from 'statewire/machines'
import { useAgent, type UsedAgent, type UseAgentOptions } from 'statewire/react'
import { assign, createActor, fromCallback, sendTo, setup, spawnChild, toPromise, waitFor } from 'xstate'
import type { ActorRefFrom, EventObject, OutputFrom } from 'xstate'
import { z } from 'zod'

export * as core from 'statewire/core'
export * as durable from 'statewire/durable'
export * as inspector from 'statewire/inspector'
export * as openai from 'statewire/providers/openai'
export * as providers from 'statewire/providers'
export * as registry from 'statewire/registry'
export * as simulator from 'statewire/simulator'
export * as testing from 'statewire/testing'
export * as ui from 'statewire/ui'
export * as visualize from 'statewire/visualize'

declare const model: ChatModel
type User = { userId: string }
const whoami = tool({
  name: 'whoami',
  description: 'Says who asks',
  needsApproval: true,
  execute: (_, { context }: ToolContext<User>) => context.userId,
})
const lookup = tool({
  name: 'lookup',
  description: 'Looks up',
  input: z.object({ city: z.string(), days: z.number().optional() }),
  execute: ({ city, days }) => city.toUpperCase() + days?.toFixed(),
})
const clerk = new Agent(model, { tools: [whoami, lookup] })
const plain = new Agent(model, { tools: [lookup] })
const City = z.object({ name: z.string(), founded: z.string().transform((year) => new Date(year)) })
type City = z.infer<typeof City>

export const parent = setup({
  types: {
    context: {} as {
      userId: string
      asked: string[]
      founded: Date | undefined
      output: AgentOutput | undefined
      helper: ActorRefFrom<typeof plain.machine>
    },
    input: {} as User,
    events: {} as AgentReport<City> | { type: 'approve'; callId: string } | { type: 'steer'; text: string },
  },
  actors: { clerk: clerk.machine, city: plain.machineFor(City), helper: plain.machine },
  guards: { isComplete: (_, output: AgentOutput) => output.status === 'complete' },
}).createMachine({
  context: ({ input, spawn }) => ({
    userId: input.userId,
    asked: [],
    founded: undefined,
    output: undefined,
    helper: spawn('helper', { id: 'helper', input: { prompt: 'Help' } }),
  }),
  initial: 'Asking',
  entry: spawnChild('helper', { id: 'other', input: { prompt: 'x', history: [] } }),
  states: {
    Asking: {
      invoke: {
        id: 'clerk',
        src: 'clerk',
        input: ({ context }) => ({ prompt: 'Who am I?', context: { userId: context.userId } }),
        onDone: [
          {
            guard: { type: 'isComplete', params: ({ event }) => event.output },
            target: 'City',
            actions: assign({ output: ({ event }) => event.output }),
          },
          { target: 'City' },
        ],
      },
      on: {
        'agent.waiting': { actions: assign({ asked: ({ event }) => event.calls.map(({ name }) => name) }) },
        'agent.done': {
          actions: assign({
            founded: ({ event: { output } }) => output.status === 'complete' ? output.output.founded : undefined,
          }),
        },
        approve: { actions: sendTo('clerk', ({ event }) => ({ type: 'tool.approve', callId: event.callId })) },
        steer: { actions: sendTo('clerk', ({ event }) => ({ type: 'steer', text: event.text })) },
      },
    },
    City: {
      invoke: {
        src: 'city',
        input: { prompt: 'Which?' },
        onDone: {
          target: 'Done',
          actions: assign({
            founded: ({ event: { output } }) => output.status === 'complete' ? output.output.founded : undefined,
          }),
        },
      },
    },
    Done: { type: 'final' },
  },
})
const actor = createActor(parent, { input: { userId: 'ada' } }).start()
actor.send({ type: 'approve', callId: 'a' })
await waitFor(actor, (snapshot) => snapshot.matches('Done'))
export const year: number | undefined = actor.getSnapshot().context.founded?.getUTCFullYear()
createActor(parent, { snapshot: actor.getPersistedSnapshot(), input: { userId: 'ada' } }).start()
const again = clerk.machineFor(undefined, { context: { userId: 'ada' } })
createActor(parent.provide({ actors: { clerk: again } }), { input: { userId: 'ada' } })

// @ts-expect-error the context is missing
createActor(clerk.machine, { input: { prompt: 'x' } })
// @ts-expect-error the context is of another type
createActor(clerk.machine, { input: { prompt: 'x', context: { userId: 1 } } })
// @ts-expect-error there is no input
createActor(clerk.machine)

const run = createActor(clerk.machine, { input: { prompt: 'x', context: { userId: 'ada' } } })
run.on('chunk', ({ output }) => output.toUpperCase())
// @ts-expect-error there is no such event
run.on('chunkk', () => {})
run.send({ type: 'steer', text: 'Shorter' })
// @ts-expect-error a command needs its call
run.send({ type: 'tool.approve' })
export const answer: string = (await toPromise(run)).output

const typed = plain.machineFor(City)
const value = {} as OutputFrom<typeof typed>
export const founded: Date | string = value.status === 'complete' ? value.output.founded : value.output

plain.machine.provide({
  guards: {
    isWorthRetrying: ({ context }) => context.request.attempt < 5,
    isPastDeadline: (_, { at }) => at > 1,
  },
  actions: { beginStep: assign(({ context }) => ({ step: context.step + 1 })) },
  actors: { timer: fromCallback<EventObject, { at: number | null }>(() => {}) },
})
// @ts-expect-error there is no such guard
plain.machine.provide({ guards: { isWorthRetryng: () => true } })

export const Chat = (): string => {
  const chat = useAgent(clerk, { context: { userId: 'ada' }, prompt: 'Hello' })
  const city: UsedAgent<City> = useAgent(plain, { schema: City })
  // @ts-expect-error the context is missing
  useAgent(clerk)
  chat.send('x')
  for (const { id } of chat.pending) chat.approve(id)
  return chat.text + chat.error?.message + city.output?.founded.getUTCFullYear()
}
export type Options = UseAgentOptions<User>
export const direct: Promise<string> = plain.send('x').then(({ output }) => output)
`

const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: 'ES2022',
  lib: ['ES2023'],
  types: ['node'],
  noEmit: true,
  module: 'Node16',
  moduleResolution: 'Node16',
}

/** The errors that a release of TypeScript reports for the app and the declarations that it uses, in a project; empty if there are none. */
export const complaintsOf = async (typescript: string, folder: string): Promise<string> => {
  const found = await fromRegistry('typescript', typescript)
  if ('problem' in found) throw new Error(found.problem)
  await writeFile(join(folder, 'app.mts'), app)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.mts'] }))
  const { printed, code } = await runProgram(process.execPath, [join(found.folder, 'bin/tsc'), '-p', folder])
  return code === 0 ? printed : `${printed}The compiler ended with ${code}.`
}
