/** Stored runs with the tools of a server: questions are answered while their process runs, and the model learns of those that are lost. */
import { expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { DurableRun } from '../../src/durable/index.ts'
import type { McpConnectOptions } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { connected, everything } from './servers.ts'

const startAsking = async (elicitation: McpConnectOptions['elicitation']) => {
  const remote = await connected({ ...everything, ...(elicitation && { elicitation }), needsApproval: false })
  const asking = [{ toolCall: { id: 'c', name: 'trigger-elicitation-request', arguments: {} } }]
  const agent = new Agent(scriptedModel([asking, 'done']), { tools: [remote] })
  const path = storeFile()
  const runs = await opened(path, { agent })
  return { runs, run: await runs.start('agent', 'go', { context: { user: 'Ada' } }), path, agent }
}

/** Waits until a run has a pending call. */
const pendingOf = (run: DurableRun) =>
  vi.waitFor(async () => {
    const { pending } = await run.info()
    expect(pending).toHaveLength(1)
    return pending ?? []
  }, 30_000)

test('a question that a function answers is answered in a stored run', async () => {
  const asked: unknown[] = []
  const { run } = await startAsking(({ message }, { callId, context }) => {
    asked.push({ message, callId })
    return { name: Object(context).user, check: true }
  })
  const { messages } = await run.result
  expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('Name: Ada')
  expect(asked).toEqual([{ message: expect.any(String), callId: 'c' }])
})

test('a question is answered in a stored run, which stays loaded for it', async () => {
  const { runs, run } = await startAsking(true)
  const [asked] = await pendingOf(run)
  expect(asked).toMatchObject({ name: 'elicitation', kind: 'answer' })
  const callId = asked?.id ?? ''
  await runs.send(run.id, { type: 'tool.answer', callId, result: { name: 'Ada', check: true } })
  const { messages } = await run.result
  expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('Name: Ada')
})

test('a question ends with its process: the model sees that, and the run continues', async () => {
  const { runs, run, path, agent } = await startAsking(true)
  await pendingOf(run)
  await runs.close()
  const again = await opened(path, { agent })
  const { messages, finishReason } = (await (await again.get(run.id))?.result) ?? { messages: [] }
  expect(finishReason).toBe('stop')
  expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('whether it took effect is unknown')
})
