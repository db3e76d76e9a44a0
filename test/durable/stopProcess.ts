// A server that a deploy stops: `node stopProcess.mjs <file>`. Its tools end once it is stopped, and its last word is "closed".
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const path = process.argv[2] ?? ''
// Before a stored run can continue, and call its tool.
const stopped = once(process, 'SIGTERM')
const say = (word: string): void => void process.stdout.write(`${word}\n`)

/** Three calls, one after the other, then the end. */
const model: ChatModel = {
  ...scriptedModel([]),
  stream: (request, sink) => {
    const results = request.messages.flatMap(toolResultsOf).length
    const call = { toolCall: { id: `work-${results}`, name: 'work' } }
    return scriptedModel([results < 3 ? [call] : 'Done.']).stream(request, sink)
  },
}
const work = tool({
  name: 'work',
  description: 'Works.',
  execute: async (_, { callId }) => {
    appendFileSync(`${path}.log`, `${callId}\n`)
    say('working')
    await stopped
    return 'worked'
  },
})

const runs = await openRuns({
  store: sqlite(path),
  agents: { worker: new Agent(model, { tools: [work] }) },
})

stopped.then(async () => {
  await runs.close({ drain: 60_000 })
  say('closed')
  process.exit(0)
})

const run = await runs.start('worker', 'Work', { id: 'job' })
await run.result.then(
  () => say('done'),
  () => {},
)
