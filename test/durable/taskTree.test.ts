/** The tasks of a stored run as runs of their own: listed, found and commanded by their ids, from any process. */
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { RunInfo, StoredRuns } from '../../src/durable/index.ts'
import { isTaskResult, textOf } from '../../src/messages/messages.ts'
import { answering, calls, lastText, Replies } from '../engine/taskWorld.ts'
import { sampled } from '../proof/sample.ts'
import { builtScript, Script } from './builtScript.ts'
import { copying } from './copying.ts'
import { count, most } from './fanOutLead.ts'
import { opened, storeFile } from './storeFile.ts'
import { asking, shown, sleeping, taskContract } from './taskContract.ts'

taskContract((agents) => opened(storeFile(), agents))

const dataOf = <T>(line: string): T => JSON.parse(line.slice(line.indexOf(' ') + 1))

test('another process lists fifty tasks, at most eight of them at work, while their processes are killed', async () => {
  const script = await builtScript('fanOutProcess')
  const path = storeFile()
  const first = new Script(script, ['work', path])
  await first.line('open')
  const reader = new Script(script, ['list', path])
  await reader.line('list')
  await first.kill()
  for (let kills = 1; kills < 5; kills += 1) {
    const worker = new Script(script, ['work', path])
    await worker.line('open')
    await new Promise((resolve) => setTimeout(resolve, 20 * kills))
    await worker.kill()
  }
  const last = new Script(script, ['work', path])
  expect(dataOf(await last.line('done'))).toBe(`${count} of ${count}`)
  await reader.line('over')
  const lists = reader.lines.filter((line) => line.startsWith('list')).map((line) => dataOf<RunInfo[]>(line))
  let over = new Set<string>()
  let listed = 0
  for (const tasks of lists) {
    // The calls of the turn start them one after the other, and none is ever lost again.
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(tasks.length)
    expect(tasks.length).toBeGreaterThanOrEqual(listed)
    listed = tasks.length
    const isAtWork = ({ status, startedAt }: RunInfo) => status === 'running' && startedAt !== undefined
    expect(tasks.filter(isAtWork).length).toBeLessThanOrEqual(most)
    const ended = new Set(tasks.flatMap(({ id, status }) => (status === 'complete' ? id : [])))
    for (const id of over) expect(ended).toContain(id)
    over = ended
  }
  expect(new Set(lists.map((tasks) => JSON.stringify(tasks))).size).toBeGreaterThan(2)
  expect(over.size).toBe(count)
  const ids = Array.from({ length: count }, (_, index) => `job/t${count - 1 - index}`)
  expect(lists.at(-1)?.map(({ id }) => id)).toEqual(ids)
  for (const task of lists.at(-1) ?? [])
    expect(task).toMatchObject({
      agent: 'work',
      parent: 'job',
      prompt: task.callId,
      step: 3,
      usage: { inputTokens: 6, outputTokens: 3 },
    })
}, 120_000)

/** A run that waits for two of its tasks, and a process that runs no agents. */
const waiting = async (): Promise<{ runs: StoredRuns; guest: StoredRuns }> => {
  const path = storeFile()
  const runs = await opened(path, { lead: asking() })
  await (await runs.start('lead', 'Go', { id: 'job' })).result
  return { runs, guest: await opened(path, {}) }
}

test('a process that runs no agents lists the tasks, and finds each by its id', async () => {
  const { guest } = await waiting()
  const listed = [
    ['job/c', 'queued', ''],
    ['job/b', 'waiting', 'b1/q'],
    ['job/a', 'waiting', 'a1/q'],
  ]
  expect(shown(await guest.list({ parent: 'job' }))).toEqual(listed)
  expect(shown(await guest.list({ parent: 'job', before: 'job/b' }))).toEqual(listed.slice(2))
  expect(await guest.list({ parent: 'job', agent: 'other' })).toEqual([])
  expect(await (await guest.get('job/a/a1'))?.info()).toMatchObject({ status: 'waiting', prompt: 'a1' })
})

test('a task that is queued ends at once when it is aborted, and the model learns why', async () => {
  const { runs, guest } = await waiting()
  await guest.send('job/c', { type: 'abort', reason: 'two are enough' })
  for (const id of ['a', 'b']) await guest.send(`job/${id}/${id}1`, { type: 'tool.approve', callId: 'q' })
  const { messages } = (await (await runs.get('job'))?.result) ?? { messages: [] }
  expect(messages.filter(isTaskResult).map(textOf)).toContain(
    'The task "c" (research) was aborted: two are enough',
  )
})

test('a message for a task is read once, whenever the process that has the task dies', async () => {
  const path = storeFile()
  const copies: string[] = []
  const driver = await copying(path, (copy) => copies.push(copy))
  const runs = await opened(path, { lead: sleeping() }, { driver, synchronous: 'normal' })
  const run = await runs.start('lead', 'Go', { id: 'job' })
  await expect.poll(async () => (await run.info()).status).toBe('waiting')
  const begun = copies.length
  expect(await runs.send('job/a', { type: 'message', text: 'Use euros.', when: 'now' })).toBe('delivered')
  const { answer } = await run.result
  expect(answer).toContain('I was asked: Use euros.')
  let continued = 0
  for (const copy of sampled(copies.slice(begun), 0.5)) {
    const again = await opened(copy, { lead: sleeping() }, { synchronous: 'normal' })
    expect((await (await again.get('job'))?.result)?.answer).toBe(answer)
    await again.close({ drain: 0 })
    continued += 1
  }
  expect(continued).toBeGreaterThan(2)
})

test('a message that comes after the end of its task goes to the run that started it', async () => {
  const replies = new Replies()
  const worker = new Agent(answering(replies.reply))
  const work = worker.asTool({ name: 'work', description: 'Works', background: true })
  const lead = new Agent(
    answering((request) => (request.messages.length === 1 ? calls('work', 'a', 'b') : lastText(request))),
    { tools: [work] },
  )
  const runs = await opened(storeFile(), { lead })
  const run = await runs.start('lead', 'Go', { id: 'job' })
  await expect.poll(() => replies.waiting).toEqual(['a', 'b'])
  replies.answer('a', 'Done.')
  await expect.poll(async () => (await (await runs.get('job/a'))?.info())?.status).toBe('complete')
  // As another process stored it before the end.
  const command = { type: 'message', text: 'Use euros.' } as const
  await runs.send('job', { type: 'task.command', task: 'a', command })
  replies.answer('b', 'Done.')
  const { messages } = await run.result
  const texts = messages.filter(({ role }) => role === 'user').map(textOf)
  expect(texts).toContain('For the task "a", which has ended: Use euros.')
})
