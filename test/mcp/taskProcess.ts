// A process with a stored run whose tool is a task of a server: `node taskProcess.mjs <url> <file> <topic> [onInterrupted]`.

import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { connectMcp } from '../../src/mcp/index.ts'
import { isTaskResult, textOf, toolCallsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

const [url = '', path = '', topic = '', onInterrupted = 'unknown'] = process.argv.slice(2)

const remote = await connectMcp({ url, onInterrupted: onInterrupted === 'rerun' ? 'rerun' : 'unknown' })

/** A model whose answer follows from the request, so that it is the same again. */
const model: ChatModel = {
  ...scriptedModel([]),
  stream: (request, sink) => {
    const hasCalled = request.messages.some((message) => toolCallsOf(message).length > 0)
    const call = { toolCall: { id: 'c', name: 'research', arguments: { topic } } }
    const turn = request.messages.some(isTaskResult) ? 'Thanks.' : hasCalled ? 'I wait.' : [call]
    return scriptedModel([turn]).stream(request, sink)
  },
}

const runs = await openRuns({ store: sqlite(path), agents: { lead: new Agent(model, { tools: [remote] }) } })
const run = (await runs.get('job')) ?? (await runs.start('lead', 'Go', { id: 'job' }))
process.stdout.write('open\n')
const looking = setInterval(async () => {
  const [task] = await runs.list({ parent: run.id })
  if (task) process.stdout.write(`task ${task.state}\n`)
}, 20)
const { messages } = await run.result
clearInterval(looking)
process.stdout.write(`done ${JSON.stringify(messages.filter(isTaskResult).map(textOf))}\n`)
await runs.close()
await remote.close()
process.exit()
