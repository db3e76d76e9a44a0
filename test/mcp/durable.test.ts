/** Stored runs with the tools of a server: they are released while they wait, and no call is cut off unheard. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { McpConnectOptions } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { opened, storeFile } from '../durable/storeFile.ts'
import { connected, everything } from './servers.ts'

const startAsking = async (elicitation: McpConnectOptions['elicitation']) => {
  const remote = await connected({ ...everything, ...(elicitation && { elicitation }), needsApproval: false })
  const asking = [{ toolCall: { id: 'c', name: 'trigger-elicitation-request', arguments: {} } }]
  const agent = new Agent(scriptedModel([asking, 'done']), { tools: [remote] })
  const runs = await opened(storeFile(), { agent })
  return { runs, run: await runs.start('agent', 'go', { context: { user: 'Ada' } }) }
}

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

test('a question that waits in a stored run cuts its call off: the model is told, and the run goes on', async () => {
  const { runs, run } = await startAsking(true)
  const { pendingApproval } = await run.result
  expect(pendingApproval?.calls).toMatchObject([{ name: 'elicitation', kind: 'answer' }])
  const callId = pendingApproval?.calls[0].id ?? ''
  await runs.send(run.id, { type: 'tool.answer', callId, result: { name: 'Ada', check: true } })
  const { messages, finishReason } = await run.result
  expect(finishReason).toBe('stop')
  expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('whether it took effect is unknown')
})
