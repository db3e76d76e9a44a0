/** An app that has XState 6 and not 5, with the built package: it runs, and it compiles strictly and without casts. */
// The types of the alpha itself have errors, so those of libraries are not checked.
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../runScript.ts'

if (!existsSync('dist/xstate6.js')) throw new Error('There is no dist: run `npm run build` first.')

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

describe('an app on XState 6', { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-six-'))

  beforeAll(() => {
    const modules = join(folder, 'node_modules')
    mkdirSync(join(modules, 'statewire'), { recursive: true })
    mkdirSync(join(modules, '@cfworker'))
    mkdirSync(join(modules, '@types'))
    cpSync('package.json', join(modules, 'statewire/package.json'))
    cpSync('dist', join(modules, 'statewire/dist'), { recursive: true })
    const links = {
      xstate: 'xstate6',
      zod: 'zod',
      undici: 'undici',
      'eventsource-parser': 'eventsource-parser',
    }
    for (const [name, source] of Object.entries({
      ...links,
      '@cfworker/json-schema': '@cfworker/json-schema',
      '@types/node': '@types/node',
    }))
      symlinkSync(resolve('node_modules', source), join(modules, name))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'app.ts'), app)
    const compilerOptions = {
      strict: true,
      skipLibCheck: true,
      module: 'NodeNext',
      target: 'ES2022',
      outDir: 'out',
      types: ['node'],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
    writeFileSync(
      join(folder, 'app.cjs'),
      "const { Agent, agentLogic } = require('statewire/xstate6'); console.log(typeof agentLogic, typeof Agent)",
    )
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('compiles strictly, and runs', async () => {
    const compiled = await runProgram(process.execPath, [
      resolve('node_modules/typescript/bin/tsc'),
      '-p',
      folder,
    ])
    expect(compiled.printed).toBe('')
    const { printed } = await runProgram(process.execPath, [join(folder, 'out/app.js')])
    expect(printed).toBe('Oslo {"city":"Oslo"}\n')
  })

  test('may be CommonJS', async () => {
    const { printed } = await runProgram(process.execPath, [join(folder, 'app.cjs')])
    expect(printed).toBe('function function\n')
  })
})
