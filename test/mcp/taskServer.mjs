// A server that works on calls as tasks, over HTTP, with the task store of the SDK. Its argument is a file in which it writes down
// what it did. A task ends when there is a file of that name with `.go` at its end. It prints its port.
import { appendFileSync, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const log = process.argv[2]
const done = (what) => appendFileSync(log, `${what}\n`)
const text = (value) => ({ content: [{ type: 'text', text: value }] })

class Store extends InMemoryTaskStore {
  async updateTaskStatus(id, status, ...rest) {
    if (status === 'cancelled') done('cancelled')
    await super.updateTaskStatus(id, status, ...rest)
  }
}
const taskStore = new Store()
const taskMessageQueue = new InMemoryTaskMessageQueue()

/** Works on a task until the test lets it end, or it is cancelled. */
const work = async (taskId, end) => {
  while (!existsSync(`${log}.go`)) await setTimeout(20)
  const { status } = await taskStore.getTask(taskId)
  if (status === 'working') await end()
}

const handlerOf = (end) => ({
  createTask: async ({ topic }, { taskStore: store, taskRequestedTtl }) => {
    done(`began ${topic}`)
    const task = await store.createTask({ ttl: taskRequestedTtl, pollInterval: 10 })
    void work(task.taskId, () => end(task.taskId, topic))
    // The process of the client is killed before it gets the id.
    if (topic === 'unanswered' && !existsSync(`${log}.go`)) await setTimeout(3_600_000)
    return { task }
  },
  getTask: (_, { taskId, taskStore: store }) => store.getTask(taskId),
  getTaskResult: (_, { taskId, taskStore: store }) => store.getTaskResult(taskId),
})

const inputSchema = { topic: z.string() }
const complete = async (id, topic) => {
  done(`ended ${topic}`)
  await taskStore.storeTaskResult(id, 'completed', text(`All about ${topic}.`))
}
const fail = async (id, topic) => {
  await taskStore.storeTaskResult(id, 'failed', { ...text(`Nothing about ${topic}.`), isError: true })
}
const ask = (id) => taskStore.updateTaskStatus(id, 'input_required')

const newServer = () => {
  const server = new McpServer(
    { name: 'tasks', version: '1' },
    {
      capabilities: { tasks: { requests: { tools: { call: {} } }, cancel: {}, list: {} } },
      taskStore,
      taskMessageQueue,
    },
  )
  const { tasks } = server.experimental
  const register = (name, taskSupport, end) =>
    tasks.registerToolTask(
      name,
      { inputSchema, annotations: { readOnlyHint: true }, execution: { taskSupport } },
      handlerOf(end),
    )
  register('research', 'required', complete)
  register('fail', 'required', fail)
  register('ask', 'required', ask)
  register('lookup', 'optional', complete)
  return server
}

const http = createServer(async (request, response) => {
  // Without sessions: a task belongs to the server, and not to the process that asked for it.
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  const server = newServer()
  response.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response)
})
http.listen(0, '127.0.0.1', () => process.stdout.write(`${http.address().port}\n`))
