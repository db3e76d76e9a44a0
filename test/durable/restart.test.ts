/** A run that is stopped as if its process had died continues from what is stored, in the same process. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { viewOf } from '../../src/durable/storeView.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'

test.each([
  ['unknown', 1, 'effect'],
  ['rerun', 2, 'worked'],
] as const)('a call that was running is %s', async (onInterrupted, times, result) => {
  let ran = 0
  let hasBegun = () => {}
  const begun = new Promise<void>((resolve) => {
    hasBegun = resolve
  })
  const work = tool({
    name: 'work',
    description: 'Works',
    onInterrupted,
    execute: () => {
      ran += 1
      hasBegun()
      return ran === 1 ? new Promise(() => {}) : 'worked'
    },
  })
  const model = scriptedModel([[{ text: 'I work.' }, { toolCall: { id: 'a', name: 'work' } }], 'Done.'])
  const runs = await opened(storeFile(), { worker: new Agent(model, { tools: [work] }) })
  const run = await runs.start('worker', 'Work', { id: 'job' })
  const texts: string[] = []
  const read = (async () => {
    for await (const { chunk } of run.stream()) texts.push(chunk.output)
  })()
  await begun
  expect(viewOf(runs)?.restart?.('job')).toBe(true)
  const { answer, messages } = await run.result
  await read
  expect([answer, ran]).toEqual(['Done.', times])
  expect(messages.flatMap(toolResultsOf).map((each) => each.result)).toEqual([
    expect.stringContaining(result),
  ])
  expect(texts.join('')).toBe('I work.\nDone.')
  expect(viewOf(runs)?.restart?.('job')).toBe(false)
  expect(viewOf(runs)?.restart?.('none')).toBe(false)
})
