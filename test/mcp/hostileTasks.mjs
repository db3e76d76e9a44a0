// A server that answers about its tasks as no server should: each tool has a habit of its own. Its argument is a file in which it
// writes down the tasks that are cancelled.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const log = process.argv[2]
const initialized = ({ protocolVersion }) => ({
  protocolVersion,
  capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
  serverInfo: { name: 'hostile', version: '1' },
})
const habits = {
  endless: { status: 'working', pollInterval: 10 },
  eager: { status: 'working', pollInterval: -1 },
  lazy: { status: 'working', pollInterval: 1e300 },
  odd: { status: 'exploded' },
  none: {},
  huge: { status: 'failed', statusMessage: 'x'.repeat(1e6) },
  resultless: { status: 'completed' },
}
const tools = [...Object.keys(habits), 'numbered', 'nameless', 'plain', 'mute'].map((name) => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  execution: { taskSupport: 'required' },
}))
const ids = { numbered: { task: { taskId: 7 } }, nameless: { task: null }, plain: { content: [] } }
const methods = {
  initialize: initialized,
  'tools/list': () => ({ tools }),
  'tools/call': ({ name }) => ids[name] ?? { task: { taskId: name, status: 'working' } },
  'tasks/get': ({ taskId }) => {
    appendFileSync(log, `asked ${taskId}\n`)
    return habits[taskId]
  },
  'tasks/cancel': ({ taskId }) => {
    appendFileSync(log, `cancelled ${taskId}\n`)
    return {}
  },
  'tasks/result': ({ taskId }) => (taskId === 'resultless' ? undefined : {}),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line)
  if (id === undefined) continue
  const result = methods[method]?.(params)
  const answer = result ? { result } : { error: { code: -32602, message: 'There is no such task.' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`)
}
