/** A stop is not a crash: what runs is stopped for good, and continues once in the next process. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'

/** A boss with a sub-agent that calls `first`, which ends when the test says so, and then `second`. */
const crew = () => {
  const ran: string[] = []
  let end = () => {}
  const isEnded = new Promise<void>((resolve) => {
    end = resolve
  })
  const input = z.object({})
  const first = tool({
    name: 'first',
    description: 'Waits.',
    input,
    execute: async () => {
      ran.push('first')
      await isEnded
      return 'waited'
    },
  })
  const second = tool({
    name: 'second',
    description: 'Works.',
    input,
    execute: () => void ran.push('second'),
  })
  const call = (id: string, name: string) => [{ toolCall: { id, name, arguments: {} } }]
  const helperModel = scriptedModel([call('c1', 'first'), call('c2', 'second'), 'Helped.'])
  const helper = new Agent(helperModel, { tools: [first, second] })
  const bossModel = scriptedModel([
    [{ toolCall: { id: 'a', name: 'helper', arguments: { prompt: 'Help.' } } }],
    'Done.',
  ])
  const boss = new Agent(bossModel, { tools: [helper.asTool({ name: 'helper', description: 'Helps' })] })
  return { boss, ran, helperModel, end: () => end() }
}

const tick = () => new Promise((resolve) => setTimeout(resolve, 20))

test.each([
  ['closed', (runs: Awaited<ReturnType<typeof opened>>) => runs.close()],
  [
    'pruned',
    (runs: Awaited<ReturnType<typeof opened>>) =>
      runs.prune({ olderThan: new Date(Date.now() + 60_000), status: 'running' }),
  ],
])('a run that is %s while the tool of a sub-agent runs does nothing more', async (_, stop) => {
  const { boss, ran, helperModel, end } = crew()
  const runs = await opened(storeFile(), { boss })
  await runs.start('boss', 'Go', { id: 'job' })
  await expect.poll(() => ran).toEqual(['first'])
  await stop(runs)
  end()
  await tick()
  expect(ran).toEqual(['first'])
  expect(helperModel.requests).toHaveLength(1)
})

test('the request of a sub-agent is closed with the run', async () => {
  const model = scriptedModel([[{ hang: true }]])
  const helper = new Agent(model)
  const call = { toolCall: { id: 'a', name: 'helper', arguments: { prompt: 'Help.' } } }
  const boss = new Agent(scriptedModel([[call]]), {
    tools: [helper.asTool({ name: 'helper', description: 'Helps' })],
  })
  const runs = await opened(storeFile(), { boss })
  await runs.start('boss', 'Go', { id: 'job' })
  await expect.poll(() => model.requests.length).toBe(1)
  await runs.close()
  expect(model.closed).toBe(1)
})
