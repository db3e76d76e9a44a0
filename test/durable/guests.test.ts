// A process without agents looks at runs and enqueues commands for their owner. It never runs anything.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { type OpenOptions, openRuns, type Runs, sqlite } from '../../src/durable/index.ts'
import { viewOf } from '../../src/durable/storeView.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { folder } from '../cli/spawned.ts'

const removal = tool({
  name: 'remove',
  description: 'Removes',
  needsApproval: true,
  execute: () => 'removed',
})

const janitor = () =>
  new Agent(scriptedModel([[{ toolCall: { id: 'call_1', name: 'remove' } }], 'Done.']), { tools: [removal] })

const opened = async (path: string, options: Omit<OpenOptions, 'store'> = {}): Promise<Runs> => {
  const runs = await openRuns({ store: sqlite(path), ...options })
  onTestFinished(() => runs.close().catch(() => {}))
  return runs
}

it('leaves a decision in the file, and the next owner applies it', async () => {
  const path = join(await folder(), 'runs.db')
  const owner = await opened(path, { agents: { janitor: janitor() } })
  const run = await owner.start('janitor', 'Clean up', { id: 'job' })
  expect((await run.result).pendingApproval?.calls).toHaveLength(1)
  await owner.close()

  const guest = await opened(path)
  await guest.send('job', { type: 'tool.approve', callId: 'call_1' })
  expect((await guest.list()).map(({ id, status }) => [id, status])).toEqual([['job', 'waiting']])
  await expect(guest.send('job', { type: 'tool.approve', callId: 'call_1' })).rejects.toThrow(
    /no call is pending/,
  )

  const model = scriptedModel(['Done.'])
  const next = await opened(path, { agents: { janitor: new Agent(model, { tools: [removal] }) } })
  const result = await (await next.get('job'))?.result
  expect(result?.messages.flatMap(({ parts }) => parts).some((part) => part.type === 'toolResult')).toBe(true)
  expect(await (await guest.get('job'))?.info()).toMatchObject({ status: 'complete' })
})

it('never owns the file, whether another process does or not', async () => {
  const path = join(await folder(), 'runs.db')
  const guest = await opened(path)
  expect(await viewOf(guest)?.hasOwner()).toBe(false)
  expect(existsSync(`${path}-owner`)).toBe(false)
  const owner = await opened(path, { agents: { janitor: janitor() } })
  expect(await viewOf(guest)?.hasOwner()).toBe(true)
  await owner.start('janitor', 'Clean up', { id: 'job' })
  await owner.close()
  expect(await viewOf(guest)?.hasOwner()).toBe(false)
})

it('streams what another process runs, and starts nothing', async () => {
  const path = join(await folder(), 'runs.db')
  const owner = await opened(path, { agents: { janitor: janitor() } })
  const guest = await opened(path)
  await owner.start('janitor', 'Clean up', { id: 'job' })
  const chunks = []
  for await (const { chunk } of (await guest.get('job'))?.stream() ?? []) chunks.push(chunk)
  expect(chunks.at(-1)?.pendingApproval?.calls).toMatchObject([{ id: 'call_1' }])
  await expect(guest.start('janitor', 'Again')).rejects.toThrow('opened without agents')
})
