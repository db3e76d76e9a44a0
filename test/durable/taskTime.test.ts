/** Background agents that sleep, and whose calls expire, while no process has the run that started them. */
import { afterEach, expect, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { sleepTool } from '../../src/tools/sleep.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { tool } from '../../src/tools/tool.ts'
import { answering, calls } from '../engine/taskWorld.ts'
import { opened, storeFile } from './storeFile.ts'

const hourMs = 3_600_000
afterEach(() => vi.useRealTimers())

const guard = (name: string, expiresMs?: number) =>
  tool({
    name,
    description: 'Asks first',
    needsApproval: true,
    ...(expiresMs !== undefined && { expiresMs }),
    execute: () => 'allowed',
  })

/** An agent whose only step is a call of a tool, and a lead that starts it `depth` levels down. */
const lead = (depth: number, tools: Tool[], args = {}): Agent => {
  const worker = new Agent(
    answering(({ messages }) => {
      const [result] = messages.flatMap(toolResultsOf)
      const [{ name = '' } = {}] = tools
      return result ? `Got: ${result.result}` : [{ toolCall: { id: 'w', name, arguments: args } }]
    }),
    { tools },
  )
  return Array.from({ length: depth }).reduce<Agent>((agent) => {
    const work = agent.asTool({ name: 'work', description: 'Works', background: true })
    return new Agent(
      answering(({ messages }) => {
        const results = messages.filter(isTaskResult)
        if (messages.length === 1) return calls('work', 'a')
        return results.length > 0 ? `Has ${results.map(textOf).join()}` : 'I wait.'
      }),
      { tools: [work] },
    )
  }, worker)
}

const sleeping = async (agent: Agent) => {
  const path = storeFile()
  const runs = await opened(path, { agent })
  const run = await runs.start('agent', 'Go', { id: 'job' })
  const before = Date.now()
  await vi.waitFor(async () => expect(await run.info()).toMatchObject({ status: 'waiting' }), 30_000)
  return { path, runs, run, before }
}

const later = async (path: string, agent: Agent, ms: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })
  const again = await opened(path, { agent })
  const run = await again.get('job')
  await vi.waitFor(async () => expect(await run?.info()).toMatchObject({ status: 'complete' }), 30_000)
  return run?.result
}

test.each([1, 2])('a task that sleeps, %i deep, leaves a row, and nothing in memory', async (depth) => {
  const agent = lead(depth, [sleepTool()], { seconds: 3600 })
  const { path, runs, run, before } = await sleeping(agent)
  const { dueAt, pending, state } = await run.info()
  expect([state, pending]).toEqual(['AwaitingTasks', []])
  expect(dueAt?.getTime()).toBeGreaterThanOrEqual(before + hourMs - 1000)
  await vi.waitFor(async () => expect(await runs.health()).toMatchObject({ hosted: 0, waiting: 1 }), 30_000)
  await runs.close()
  const result = await later(path, agent, 2 * hourMs)
  expect(result?.answer).toContain('Slept for 3600 seconds.')
})

test.each([1, 2])('a call of a task, %i deep, expires while no process has the run', async (depth) => {
  const agent = lead(depth, [guard('wipe', hourMs)])
  const { path, runs, run, before } = await sleeping(agent)
  const { dueAt, pending } = await run.info()
  expect(pending).toMatchObject([{ name: 'wipe', kind: 'approval' }])
  expect(dueAt?.getTime()).toBe(pending[0]?.expiresAt)
  expect(dueAt?.getTime()).toBeGreaterThanOrEqual(before + hourMs - 1000)
  await runs.close()
  const result = await later(path, agent, 2 * hourMs)
  expect(result?.answer).toContain('No person decided on this call in time')
})

test('a task that sleeps continues in the same process when its time has come', async () => {
  const runs = await opened(storeFile(), { agent: lead(2, [sleepTool()], { seconds: 0.05 }) })
  const run = await runs.start('agent', 'Go')
  expect((await run.result).answer).toContain('Slept for')
})

test('a person decides on a task while another one sleeps', async () => {
  const sleeper = lead(0, [sleepTool()], { seconds: 3600 })
  const asker = lead(0, [guard('wipe')])
  const agent = new Agent(
    answering(({ messages }) => {
      const results = messages.filter(isTaskResult)
      if (messages.length > 1) return `${results.length} of 2`
      return [
        { toolCall: { id: 's', name: 'rest', arguments: { prompt: 's' } } },
        { toolCall: { id: 'a', name: 'ask', arguments: { prompt: 'a' } } },
      ]
    }),
    {
      tools: [
        sleeper.asTool({ name: 'rest', description: 'R', background: true }),
        asker.asTool({ name: 'ask', description: 'A', background: true }),
      ],
    },
  )
  const { path, runs, run } = await sleeping(agent)
  expect((await run.info()).dueAt).toBeDefined()
  await runs.send('job', { type: 'tool.approve', callId: 'a/w' })
  await vi.waitFor(async () => {
    const { status, pending, step } = await run.info()
    expect({ status, pending, step }).toEqual({ status: 'waiting', pending: [], step: 3 })
  }, 30_000)
  await runs.close()
  expect((await later(path, agent, 2 * hourMs))?.answer).toBe('2 of 2')
})
