// A process whose policy checks a call, for a test that kills it: `node holdProcess.mjs <file> hang|pass`.
import { appendFileSync } from 'node:fs'
import { assign, fromPromise, setup } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const [path = '', way = ''] = process.argv.slice(2)
const log = (line: string): void => appendFileSync(`${path}.log`, `${line}\n`)

const pay = tool({ name: 'pay', description: 'Pays.', execute: (_, { callId }) => log(`paid ${callId}`) })
const look = tool({ name: 'look', description: 'Looks.', execute: (_, { callId }) => log(`saw ${callId}`) })

/** A payment counts against a budget, then a check holds it, together with the other calls of the turn. */
const policy = setup({
  types: { context: {} as { left: number } },
  actors: {
    check: fromPromise(async () => {
      log('check')
      process.stdout.write('checking\n')
      if (way === 'hang') await new Promise((resolve) => setTimeout(resolve, 3_600_000))
    }),
  },
  actions: { allow: () => {}, spend: assign({ left: ({ context }) => context.left - 60 }) },
}).createMachine({
  context: { left: 100 },
  initial: 'Open',
  states: {
    Open: {
      on: {
        'look.call': { actions: 'allow' },
        'pay.call': { guard: ({ context }) => context.left >= 60, target: 'Checking', actions: 'spend' },
      },
    },
    Checking: { tags: 'hold', invoke: { src: 'check', onDone: 'Open' } },
  },
})

const call = (id: string, name: string) => ({ toolCall: { id, name } })

/** A model of one turn with three calls, the second of which is held and the third too much. */
const model: ChatModel = {
  ...scriptedModel([]),
  stream: (request, sink) => {
    const isAnswered = request.messages.some((message) => toolResultsOf(message).length > 0)
    const turn = isAnswered ? 'Done.' : [call('1', 'look'), call('2', 'pay'), call('3', 'pay')]
    return scriptedModel([turn]).stream(request, sink)
  },
}

const runs = await openRuns({
  store: sqlite(path),
  agents: { payer: new Agent(model, { tools: [pay, look], policy }) },
})
const run = await runs.start('payer', 'Pay', { id: 'job' })
const { output, messages } = await run.result
const results = messages.flatMap(toolResultsOf).map(({ id, isError }) => [id, isError ?? false])
process.stdout.write(`done ${JSON.stringify({ output, results })}\n`)
await runs.close()
