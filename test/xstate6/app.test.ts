/** An app that has XState 6 and not 5, with the built package: it runs, and it compiles strictly and without casts. */
import { afterAll, describe, expect, test } from 'vitest'
import { AppFolder } from './appFolder.ts'

const app = `
import { Agent, agentLogic, tool, type AgentOutput, type ChatModel, type ToolContext } from 'statewire/xstate6'
import { createActor, setup, types, waitFor } from 'xstate'
import { z } from 'zod'

const model: ChatModel = {
  provider: 'own',
  model: 'own',
  profile: { tools: true, parallelTools: true, nativeSchema: true, schemaWithTools: true, thinking: false, attachments: { images: false, pdf: false, audio: false, links: false } },
  stream: (_, sink) => {
    sink.deltas([{ type: 'text', text: '{"city":"Oslo"}' }, { type: 'finish', reason: 'stop' }])
    sink.end()
    return () => {}
  },
}
const whoami = tool({
  name: 'whoami',
  description: 'Says who asks',
  execute: (_, { context }: ToolContext<{ userId: string }>) => context.userId,
})
const agent = new Agent(model, { tools: [whoami] })
const machine = setup({
  schemas: { context: types<{ city: string; output: AgentOutput | null }>() },
  actors: { city: agentLogic(agent, { schema: z.object({ city: z.string() }) }), plain: agentLogic(new Agent(model)) },
}).createMachine({
  context: { city: '', output: null },
  initial: 'first',
  states: {
    first: {
      invoke: {
        src: 'city',
        input: { prompt: 'Norway?', context: { userId: 'ada' } },
        onDone: ({ context, output }) => ({
          target: 'second',
          context: { ...context, city: output.status === 'complete' ? output.output.city : output.status },
        }),
      },
    },
    second: {
      invoke: {
        src: 'plain',
        input: { prompt: 'x' },
        onDone: ({ context, output }) => ({ target: 'end', context: { ...context, output } }),
      },
    },
    end: { type: 'final' },
  },
})
const { context } = await waitFor(createActor(machine).start(), ({ status }) => status === 'done')
console.log(context.city, context.output?.output)

// @ts-expect-error the context that the tool needs is missing
createActor(agentLogic(agent), { input: { prompt: 'x' } })
`

const common =
  "const { Agent, agentLogic } = require('statewire/xstate6'); console.log(typeof agentLogic, typeof Agent)"

describe('an app on XState 6', { timeout: 600_000 }, () => {
  const folder = new AppFolder('node_modules/xstate6', { 'app.ts': app, 'app.cjs': common })
  afterAll(() => folder.remove())

  test('compiles strictly, and runs', async () => {
    expect(await folder.compile()).toBe('')
    expect(await folder.run('out/app.js')).toBe('Oslo {"city":"Oslo"}\n')
  })

  test('may be CommonJS', async () => {
    expect(await folder.run('app.cjs')).toBe('function function\n')
  })
})
