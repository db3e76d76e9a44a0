/** Tools whose server works on a call as a task: the run awaits it in the background, and cancels it with itself. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { mcpTools } from '../../src/mcp/index.ts'
import { isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import type { ScriptTurn } from '../../src/testing/scriptedModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { connected, everything } from './servers.ts'
import { taskServer } from './taskServers.ts'

const call = (name: string, topic: string): ScriptTurn => [
  { toolCall: { id: topic, name, arguments: { topic } } },
]

test('a tool that only runs as a task works in the background, and its result is a message', async () => {
  const { url, log, letEnd } = await taskServer()
  const remote = await connected({ url })
  const model = scriptedModel([call('research', 'cats'), 'I wait.', 'Thanks.'])
  const run = new Agent(model, { tools: [remote] }).start('go')
  run.on('message', ({ message }) => {
    if (textOf(message) === 'I wait.') letEnd()
  })
  const { messages, answer } = await run.result
  expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('"status":"started"')
  expect(messages.filter(isTaskResult).map(textOf)).toEqual([
    'The task "cats" (research) is complete. Its result:\nAll about cats.',
  ])
  expect(answer).toBe('Thanks.')
  expect(log()).toEqual(['began cats', 'ended cats'])
})

test('the reference server works on a task', async () => {
  const remote = await connected({
    ...everything,
    include: ['simulate-research-query'],
    needsApproval: false,
  })
  const model = scriptedModel([call('simulate-research-query', 'cats'), 'I wait.', 'Thanks.'])
  const { messages } = await new Agent(model, { tools: [remote] }).send('go')
  expect(messages.filter(isTaskResult).map(textOf).join()).toContain('Research Report: cats')
})

test('a client of version 1 awaits a task, too', async () => {
  const { url, letEnd } = await taskServer()
  letEnd()
  const client = new Client({ name: 'own', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  onTestFinished(() => client.close())
  const tools = await mcpTools(client, { include: ['research'] })
  const model = scriptedModel([call('research', 'cats'), 'I wait.', 'done'])
  const { messages } = await new Agent(model, { tools }).send('go')
  expect(messages.filter(isTaskResult).map(textOf).join()).toContain('All about cats.')
})

test('a tool that can also run as a task is an ordinary one, unless it is to work in the background', async () => {
  const { url, letEnd } = await taskServer()
  letEnd()
  const plain = await connected({ url, include: ['lookup'] })
  const first = await new Agent(scriptedModel([call('lookup', 'cats'), 'done']), { tools: [plain] }).send(
    'go',
  )
  expect(first.messages.flatMap(toolResultsOf)[0]?.result).toBe('All about cats.')
  const remote = await connected({ url, include: ['lookup'], background: true })
  const model = scriptedModel([call('lookup', 'dogs'), 'I wait.', 'done'])
  const second = await new Agent(model, { tools: [remote] }).send('go')
  expect(second.messages.filter(isTaskResult).map(textOf).join()).toContain('All about dogs.')
})

test('a task that fails, and one that asks for input, end with the reason', async () => {
  const { url, letEnd, log } = await taskServer()
  letEnd()
  const remote = await connected({ url })
  const both: ScriptTurn = [
    { toolCall: { id: 'a', name: 'fail', arguments: { topic: 'cats' } } },
    { toolCall: { id: 'b', name: 'ask', arguments: { topic: 'dogs' } } },
  ]
  const model = scriptedModel([both, 'I wait.', 'One.', 'Two.'])
  const { messages } = await new Agent(model, { tools: [remote] }).send('go')
  expect(messages.filter(isTaskResult).map(textOf).toSorted()).toEqual([
    'The task "a" (fail) failed: Nothing about cats.',
    expect.stringContaining('The task "b" (ask) failed: The server needs an answer to continue the task'),
  ])
  await expect.poll(log).toContain('cancelled')
})

test('a run that is aborted cancels its tasks', async () => {
  const { url, log } = await taskServer()
  const remote = await connected({ url })
  const run = new Agent(scriptedModel([call('research', 'cats'), 'I wait.']), { tools: [remote] }).start('go')
  await expect.poll(() => run.state).toBe('AwaitingTasks')
  await expect.poll(log).toEqual(['began cats'])
  run.abort('enough')
  await expect(run.result).rejects.toThrow('enough')
  await expect.poll(log).toEqual(['began cats', 'cancelled'])
})

test('the model cancels a task', async () => {
  const { url, log } = await taskServer()
  const remote = await connected({ url })
  const cancel: ScriptTurn = [{ toolCall: { id: 'x', name: 'task_cancel', arguments: { task: 'cats' } } }]
  const model = scriptedModel([call('research', 'cats'), cancel, 'done'])
  await new Agent(model, { tools: [remote] }).send('go')
  await expect.poll(log).toEqual(['began cats', 'cancelled'])
})

test('a task takes longer than maxTimeoutMs: it fails, and is cancelled', async () => {
  const { url, log } = await taskServer()
  const remote = await connected({ url, maxTimeoutMs: 7_200_000 })
  const model = scriptedModel([call('research', 'cats'), 'I wait.', 'done'])
  const clock = new SimulatedClock()
  const run = new Agent(model, { tools: [remote], clock }).start('go')
  await expect.poll(log).toEqual(['began cats'])
  await expect
    .poll(() => {
      if (run.state === 'AwaitingTasks') clock.increment(7_200_000)
      return run.state
    })
    .toBe('Complete')
  const { messages } = await run.result
  expect(messages.filter(isTaskResult).map(textOf).join()).toContain('did not end within 7200000 ms')
  await expect.poll(log).toEqual(['began cats', 'cancelled'])
})

describe('in a store', () => {
  const startStored = async () => {
    const { url, ...server } = await taskServer()
    const remote = await connected({ url })
    const agentOf = (...script: ScriptTurn[]) => new Agent(scriptedModel(script), { tools: [remote] })
    const path = storeFile()
    const runs = await opened(path, { lead: agentOf(call('research', 'cats'), 'I wait.') })
    const run = await runs.start('lead', 'Go', { id: 'job' })
    await expect.poll(async () => (await runs.list({ parent: 'job' }))[0]?.state).toBe('Working')
    return { ...server, agentOf, path, runs, run }
  }

  test('a store that is closed leaves the task to the next one', async () => {
    const { log, letEnd, agentOf, path, runs } = await startStored()
    await runs.close({ drain: 0 })
    const again = await opened(path, { lead: agentOf('Thanks.') })
    letEnd()
    const { messages } = (await (await again.get('job'))?.result) ?? { messages: [] }
    expect(messages.filter(isTaskResult).map(textOf).join()).toContain('All about cats.')
    expect(log()).toEqual(['began cats', 'ended cats'])
  })

  test('a stored run that is aborted cancels its task', async () => {
    const { log, runs, run } = await startStored()
    await runs.send('job', { type: 'abort', reason: 'enough' })
    await expect(run.result).rejects.toThrow('enough')
    await expect.poll(log).toEqual(['began cats', 'cancelled'])
  })

  test('a task of a stored run can be aborted, and takes nothing else', async () => {
    const { log, runs } = await startStored()
    const text = 'Only black ones.'
    await expect(runs.send('job/cats', { type: 'message', text })).rejects.toThrow('it can only be aborted')
    await runs.send('job/cats', { type: 'abort' })
    await expect.poll(log).toEqual(['began cats', 'cancelled'])
  })

  test('a task of a stored run is shown with its arguments', async () => {
    const { runs } = await startStored()
    expect(await runs.list({ parent: 'job' })).toMatchObject([
      { id: 'job/cats', agent: 'research', status: 'running', prompt: '{"topic":"cats"}' },
    ])
  })
})
