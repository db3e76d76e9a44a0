/** Stored runs are traced like any other; each process that continues one makes a trace, under the id of the run. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { agentInternals } from '../../src/agent/AgentInternals.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { telemetry } from '../../src/telemetry/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { endOf } from '../engine/watching.ts'
import { observe } from './observed.ts'

const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'erase' } }]

test('a run of a store waits in one process and continues in the next', async () => {
  const observed = observe()
  const folder = await mkdtemp(join(tmpdir(), 'statewire-traces-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const erase = tool({ name: 'erase', description: 'Erases', needsApproval: true, execute: () => 'gone' })
  const janitor = new Agent(scriptedModel([call, 'Done']), { tools: [erase], inspect: telemetry() })
  const open = () => openRuns({ store: sqlite(join(folder, 'runs.db')), agents: { janitor } })

  const runs = await open()
  const { result } = await runs.start('janitor', 'Go', { id: 'job' })
  expect((await result).pendingApproval?.calls).toHaveLength(1)
  await runs.close()
  expect(observed.tree()).toBe('invoke_agent\n  chat script\n  wait approval')

  const again = await open()
  await again.send('job', { type: 'tool.approve', callId: 'a' })
  expect((await (await again.get('job'))?.result)?.output).toBe('Done')
  await again.close()
  const segments = observed.spans.filter(({ name }) => name === 'invoke_agent')
  expect(segments.map(({ attributes }) => attributes['statewire.run.id'])).toEqual(['job', 'job'])
  expect(observed.tree().split('\n').slice(3)).toEqual([
    'invoke_agent',
    '  wait approval',
    '  execute_tool erase',
    '  chat script',
  ])
})

test('work that an engine has recorded is not done again, and has no span', async () => {
  const observed = observe()
  const erase = tool({ name: 'erase', description: 'Erases', execute: () => 'gone' })
  const agent = new Agent(scriptedModel([call, 'Done']), { tools: [erase], inspect: telemetry() })
  const host = {
    call: async () => ({ type: 'toolResult', id: 'a', name: 'erase', result: 'as recorded' }) as const,
  }
  const actor = agentInternals(agent).actor({ input: { prompt: 'Go', id: 'job' } }, {}, { host })
  actor.start()
  expect(await endOf(actor)).toMatchObject({ status: 'complete' })
  expect(observed.tree()).toBe('invoke_agent\n  chat script\n  chat script')
})

test('a call that is run again after its process had ended says so', async () => {
  const observed = observe()
  let hang = true
  const erase = tool({
    name: 'erase',
    description: 'Erases',
    onInterrupted: 'rerun',
    execute: () => (hang ? new Promise(() => {}) : 'gone'),
  })
  const agent = new Agent(scriptedModel([call, 'Done']), { tools: [erase], inspect: telemetry() })
  const run = agent.start('Go')
  await new Promise<void>((resolve) => run.on('tool.call', () => resolve()))
  const snapshot = run.snapshot()
  run.abort()
  await expect(run.result).rejects.toThrow('aborted')
  hang = false
  await agent.start({ snapshot }).result
  const calls = observed.spans.filter(({ name }) => name === 'execute_tool erase')
  expect(calls.map(({ attributes }) => attributes['statewire.attempt'])).toEqual([undefined, 2])
})
