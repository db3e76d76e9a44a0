/**
 * Background agents in a store: they are stored with the run that started them, step by step, so that a process that dies
 * at any moment loses no result and delivers none twice.
 */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { DurableResult, StoredRuns } from '../../src/durable/index.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { type ChatMessage, isTaskResult, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import type { ModelRequest } from '../../src/model/chatModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { answering, calls } from '../engine/taskWorld.ts'
import { sampled } from '../proof/sample.ts'
import { copying } from './copying.ts'
import { opened, storeFile } from './storeFile.ts'

const promptOf = ({ messages: [first] }: ModelRequest): string => (first ? textOf(first) : '')
const taskResults = (messages: readonly ChatMessage[]) => messages.filter(isTaskResult)
const idsOf = (messages: readonly ChatMessage[]): string[] =>
  taskResults(messages).map(({ metadata }) => Object(metadata?.task).id)

const look = tool({ name: 'look', description: 'Looks', onInterrupted: 'rerun', execute: () => 'seen' })
const ask = tool({
  name: 'ask',
  description: 'Asks first',
  needsApproval: true,
  onInterrupted: 'rerun',
  execute: () => 'allowed',
})

/** A lead whose researchers start readers, each in the background. One reader asks a person. */
const family = (): Agent => {
  const reader = new Agent(
    answering((request) => {
      const isDone = request.messages.some((message) => toolResultsOf(message).length > 0)
      const name = promptOf(request).startsWith('b') ? 'ask' : 'look'
      return isDone ? `Read ${promptOf(request)}.` : [{ toolCall: { id: 'l', name, arguments: {} } }]
    }),
    { tools: [look, ask] },
  )
  const read = reader.asTool({ name: 'read', description: 'Reads', background: true })
  const researcher = new Agent(
    answering((request) => {
      if (request.messages.length === 1) return calls('read', `${promptOf(request)}1`)
      const [result] = taskResults(request.messages)
      return result ? `Found: ${textOf(result).split('\n').at(-1)}` : 'I wait for my reader.'
    }),
    { tools: [read] },
  )
  const research = researcher.asTool({ name: 'research', description: 'R', background: true, maxTasks: 2 })
  return new Agent(
    answering(({ messages }) => {
      if (messages.length === 1) return calls('research', 'a', 'b', 'c')
      return `${taskResults(messages).length} of 3`
    }),
    { tools: [research] },
  )
}

/** Continues a run to its end, and says yes to what it asks. */
const resultOf = async (runs: StoredRuns, id: string): Promise<DurableResult | undefined> => {
  const run = await runs.get(id)
  if (!run) return undefined
  for (;;) {
    const result = await run.result
    if (result.status === 'complete') return result
    for (const { id: callId } of result.pendingApproval?.calls ?? [])
      await runs.send(id, { type: 'tool.approve', callId })
  }
}

const checkResult = ({ answer, messages }: DurableResult): void => {
  expect(idsOf(messages).toSorted()).toEqual(['a', 'b', 'c'])
  expect(new Set(taskResults(messages).map((each) => textOf(each).split('\n').at(-1)))).toEqual(
    new Set(['Found: Read a1.', 'Found: Read b1.', 'Found: Read c1.']),
  )
  expect(answer).toBe('3 of 3')
  expect(validateHistory(messages)).toEqual([])
}

test('tasks two deep wait for a person while their run is stored, and continue', async () => {
  const runs = await opened(storeFile(), { lead: family() })
  const run = await runs.start('lead', 'Go', { id: 'job' })
  const waiting = await run.result
  expect(waiting.pendingApproval?.calls.map(({ id, kind }) => [id, kind])).toEqual([['b/b1/l', 'approval']])
  expect(await run.info()).toMatchObject({ status: 'waiting', state: 'AwaitingTasks' })
  await runs.send('job', { type: 'tool.approve', callId: 'b/b1/l' })
  checkResult(await run.result)
  expect(await run.info()).toMatchObject({ status: 'complete' })
})

test('a process that dies after any commit loses no result, and delivers none twice', async () => {
  const path = storeFile()
  const copies: string[] = []
  const driver = await copying(path, (copy) => copies.push(copy))
  const runs = await opened(path, { lead: family() }, { driver, synchronous: 'normal' })
  await runs.start('lead', 'Go', { id: 'job' })
  checkResult((await resultOf(runs, 'job')) as DurableResult)
  expect(copies.length).toBeGreaterThan(20)
  let continued = 0
  for (const copy of sampled(copies, 0.3)) {
    const again = await opened(copy, { lead: family() }, { synchronous: 'normal' })
    const result = await resultOf(again, 'job')
    await again.close({ drain: 0 })
    if (!result) continue
    checkResult(result)
    continued += 1
  }
  expect(continued).toBeGreaterThan(5)
}, 120_000)

test('a fork has tasks of its own', async () => {
  const path = storeFile()
  const runs = await opened(path, { lead: family() })
  await (await runs.start('lead', 'Go', { id: 'job' })).result
  await runs.fork('job', { id: 'second' })
  const file = (await findDriver())(path)
  const [row] = file.prepare(`SELECT head FROM runs WHERE id = 'second'`).all() as [{ head: string }]
  file.close()
  expect(row.head).not.toContain('"job')
  for (const id of ['second', 'job']) checkResult((await resultOf(runs, id)) as DurableResult)
})

test('an abort ends the tasks with their run', async () => {
  const runs = await opened(storeFile(), { lead: family() })
  const run = await runs.start('lead', 'Go', { id: 'job' })
  await run.result
  await runs.send('job', { type: 'abort', reason: 'enough' })
  await expect(run.result).rejects.toThrow('enough')
})

test('a task that would outlive its run is refused: a store could not keep it', async () => {
  const research = family().asTool({ name: 'research', description: 'R', background: true, detached: true })
  const lead = new Agent(
    answering(({ messages }) => (messages.length === 1 ? calls('research', 'a') : 'Over.')),
    { tools: [research] },
  )
  const runs = await opened(storeFile(), { lead })
  const result = await (await runs.start('lead', 'Go')).result
  expect(taskResults(result.messages).map(textOf)).toEqual([
    'The task "a" (research) failed: A detached background agent cannot run in a store: leave out detached.',
  ])
})
