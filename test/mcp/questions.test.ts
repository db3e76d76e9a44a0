/** A server that asks the person something while its tool runs: the run waits for an answer, as for an external tool. */
import { describe, expect, test, vi } from 'vitest'
import { SimulatedClock } from 'xstate'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { Run } from '../../src/agent/Run.ts'
import type { McpConnection } from '../../src/mcp/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { connected, everything, wires } from './servers.ts'

const asking = [{ toolCall: { id: 'c', name: 'trigger-elicitation-request', arguments: {} } }]
const options = { elicitation: true, needsApproval: false } as const

const agentFor = (remote: McpConnection, options: AgentOptions = {}) =>
  new Agent(scriptedModel([asking, 'done']), { tools: [remote], toolExecution: 'parallel', ...options })

const resultOf = async (run: Run) => {
  const { messages, finishReason } = await run.result
  expect(finishReason).toBe('stop')
  return messages.flatMap(toolResultsOf).map(({ result }) => result)[0]
}

describe.each(Object.entries(wires))('over %s', (_, serve) => {
  test('the answer of a person reaches the server', async () => {
    const remote = await connected({ ...(await serve()), ...options })
    const run = agentFor(remote).start('go')
    run.on('tool.external', ({ callId, call }) => {
      expect(call).toMatchObject({
        name: 'elicitation',
        arguments: { message: expect.any(String), requestedSchema: { type: 'object' } },
      })
      expect(run.pending.map(({ id }) => id)).toEqual([callId])
      run.answer(callId, { name: 'Ada', check: true, email: 'ada@example.com' })
    })
    const result = await resultOf(run)
    expect(result).toContain('User provided the requested information')
    expect(result).toContain('Ada')
  })
})

test('an answer may be in the form of the protocol, or a refusal', async () => {
  const remote = await connected({ ...everything, ...options })
  const declined = agentFor(remote).start('go')
  declined.on('tool.external', ({ callId }) => declined.reject(callId))
  expect(await resultOf(declined)).toContain('User declined')
  const cancelled = agentFor(remote).start('go')
  cancelled.on('tool.external', ({ callId }) => cancelled.answer(callId, { action: 'cancel' }))
  expect(await resultOf(cancelled)).toContain('cancelled')
})

test('the time of the call is paused while the person thinks', async () => {
  const remote = await connected({ ...everything, ...options, timeoutMs: 300 })
  const clock = new SimulatedClock()
  const run = agentFor(remote, { clock }).start('go')
  run.on('tool.external', ({ callId }) => {
    clock.increment(700)
    run.answer(callId, { action: 'decline' })
  })
  expect(await resultOf(run)).toContain('User declined')
})

test('a held run can be answered after it has reported what it waits for', async () => {
  const remote = await connected({ ...everything, ...options })
  const run = agentFor(remote).start('go')
  const { pendingApproval } = await run.result
  expect(pendingApproval?.calls).toMatchObject([{ name: 'elicitation', kind: 'answer' }])
  run.answer(pendingApproval?.calls[0].id ?? '', { action: 'decline' })
  expect(await resultOf(run)).toContain('User declined')
})

test('a run that is aborted cancels its question', async () => {
  const remote = await connected({ ...everything, ...options })
  const run = agentFor(remote).start('go')
  run.on('tool.external', () => run.abort('enough'))
  await expect(run.result).rejects.toMatchObject({ name: 'AbortedError' })
  expect(run.pending).toEqual([])
  // The next question is asked as if nothing had been.
  const next = agentFor(remote).start('go')
  next.on('tool.external', ({ callId }) => next.reject(callId))
  expect(await resultOf(next)).toContain('User declined')
})

test('a function that never answers does not hold up the next question', async () => {
  let asked = 0
  const answer = () => {
    asked += 1
    return asked === 1 ? new Promise(() => {}) : { action: 'decline' }
  }
  const remote = await connected({ ...everything, ...options, elicitation: answer })
  const run = agentFor(remote).start('go')
  await vi.waitFor(() => expect(asked).toBe(1), 30_000)
  run.abort('enough')
  await expect(run.result).rejects.toMatchObject({ name: 'AbortedError' })
  expect(await resultOf(agentFor(remote).start('go'))).toContain('User declined')
})

test('a function that throws is an error for the server, not for the run', async () => {
  const answer = () => {
    throw new Error('no one at home')
  }
  const remote = await connected({ ...everything, ...options, elicitation: answer })
  expect(await resultOf(agentFor(remote).start('go'))).toMatch(/no one at home|error/i)
})

test('a question that was open when the run was stored is lost with its call; the model sees that, and the run continues', async () => {
  const remote = await connected({ ...everything, ...options })
  const run = agentFor(remote).start('go')
  const { pendingApproval } = await run.result
  const snapshot = run.snapshot()
  run.abort()
  const restored = new Agent(scriptedModel(['I do not know.']), { tools: [remote] }).start({ snapshot })
  expect(pendingApproval).toBeDefined()
  expect(await resultOf(restored)).toContain('whether it took effect is unknown')
})

test('no person is asked while calls of two runs are running', async () => {
  const remote = await connected({ ...everything, ...options })
  const busy = new Agent(
    scriptedModel([
      [{ toolCall: { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } } }],
      'done',
    ]),
    { tools: [remote] },
  ).start('go')
  await new Promise<void>((resolve) => {
    busy.on('tool.progress', () => resolve())
  })
  const run = agentFor(remote).start('go')
  run.on('tool.external', () => expect.unreachable())
  expect(await resultOf(run)).toContain('cancelled')
  busy.abort()
  await expect(busy.result).rejects.toThrow()
})

test('a server may only ask if the options allow it', async () => {
  const remote = await connected({ ...everything, needsApproval: false })
  expect(remote.tools.map(({ name }) => name)).not.toContain('trigger-elicitation-request')
})
