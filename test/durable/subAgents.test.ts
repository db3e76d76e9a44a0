import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

test('a decision on a call of a sub-agent reaches it after the run was stored', async () => {
  const path = storeFile()
  const { agent: janitor, wiped } = wiping([[callOf('c', 'b')], 'Wiped.'])
  const boss = new Agent(
    scriptedModel([
      [{ toolCall: { id: 'a', name: 'janitor', arguments: { prompt: 'Wipe b.' } } }],
      'All done.',
    ]),
    { tools: [janitor.asTool({ name: 'janitor', description: 'Wipes files' })] },
  )
  const runs = await opened(path, { boss })
  const run = await runs.start('boss', 'Clean up.', { id: 'job' })
  expect((await run.result).pendingApproval?.calls).toMatchObject([{ id: 'a/c', name: 'wipe' }])
  expect(await run.info()).toMatchObject({ status: 'waiting' })
  await runs.send('job', { type: 'tool.approve', callId: 'a/c' })
  expect(await run.result).toMatchObject({ output: 'All done.' })
  expect(wiped).toEqual(['b'])
})

test('a fork of a run whose sub-agent waits is a run of its own, sub-agent and all', async () => {
  const { agent: janitor, wiped } = wiping([[callOf('c', 'b')], 'Wiped.', 'Wiped again.'])
  const call = [{ toolCall: { id: 'a', name: 'janitor', arguments: { prompt: 'Wipe b.' } } }]
  const boss = new Agent(scriptedModel([call, 'All done.', 'All done again.']), {
    tools: [janitor.asTool({ name: 'janitor', description: 'Wipes files' })],
  })
  const path = storeFile()
  const runs = await opened(path, { boss })
  await (await runs.start('boss', 'Clean up.', { id: 'job' })).result
  const fork = await runs.fork('job', { id: 'second' })
  const file = (await findDriver())(path)
  const [row] = file.prepare(`SELECT head FROM runs WHERE id = 'second'`).all() as [{ head: string }]
  file.close()
  // The run itself, and the run below one of its calls.
  expect(row.head.match(/"(job|second)[^"]*"/g)?.toSorted()).toEqual(['"second"', '"second/a"'])
  const questionOf = async (id: string) => (await (await runs.get(id))?.info())?.pending[0]?.question ?? ''
  const questions = { job: await questionOf('job'), second: await questionOf('second') }
  expect(questions.second).not.toBe(questions.job)
  await expect(
    runs.send('second', { type: 'tool.approve', callId: 'a/c', question: questions.job }),
  ).rejects.toThrow('another question')
  for (const [id, output] of [
    ['second', 'All done.'],
    ['job', 'All done again.'],
  ] as const) {
    await runs.send(id, { type: 'tool.approve', callId: 'a/c', question: questions[id] })
    expect(await (await runs.get(id))?.result).toMatchObject({ output })
  }
  expect(await fork.info()).toMatchObject({ status: 'complete', forkedFrom: 'job' })
  expect(wiped).toEqual(['b', 'b'])
})

test('two sub-agents wait, two decisions come at once: both count', async () => {
  const [one, two] = [wiping([[callOf('c', 'b1')], 'One.']), wiping([[callOf('c', 'b2')], 'Two.'])]
  const call = (id: string, name: string) => ({ toolCall: { id, name, arguments: { prompt: 'Wipe.' } } })
  const boss = new Agent(scriptedModel([[call('a', 'one'), call('b', 'two')], 'All done.']), {
    toolExecution: 'parallel',
    tools: [
      one.agent.asTool({ name: 'one', description: 'Wipes' }),
      two.agent.asTool({ name: 'two', description: 'Wipes' }),
    ],
  })
  const runs = await opened(storeFile(), { boss })
  const run = await runs.start('boss', 'Clean up.', { id: 'job' })
  const { pendingApproval } = await run.result
  expect(pendingApproval?.calls.map(({ id }) => id)).toEqual(['a/c', 'b/c'])
  for (const { id } of pendingApproval?.calls ?? [])
    await runs.send('job', { type: 'tool.approve', callId: id })
  expect(await run.result).toMatchObject({ output: 'All done.' })
  expect([one.wiped, two.wiped]).toEqual([['b1'], ['b2']])
})

test('what a sub-agent asks for is shown, and can be decided on, while another one is at work', async () => {
  const one = wiping([[callOf('c', 'b1')], 'One.'])
  let end = () => {}
  const isEnded = new Promise<void>((resolve) => {
    end = resolve
  })
  const slow = tool({ name: 'slow', description: 'Waits.', execute: () => isEnded.then(() => 'waited') })
  const call = (id: string, name: string, input: object = {}) => ({
    toolCall: { id, name, arguments: { ...input } },
  })
  const boss = new Agent(
    scriptedModel([[call('a', 'one', { prompt: 'Wipe.' }), call('s', 'slow')], 'All done.']),
    { toolExecution: 'parallel', tools: [one.agent.asTool({ name: 'one', description: 'Wipes' }), slow] },
  )
  const runs = await opened(storeFile(), { boss })
  const run = await runs.start('boss', 'Clean up.', { id: 'job' })
  await expect.poll(async () => (await run.info()).pending).toMatchObject([{ id: 'a/c' }])
  expect(await run.info()).toMatchObject({ status: 'running' })
  await runs.send('job', { type: 'tool.approve', callId: 'a/c' })
  await expect.poll(() => one.wiped).toEqual(['b1'])
  end()
  expect(await run.result).toMatchObject({ output: 'All done.' })
})
