/** A command counts once, a decision belongs to one run, and a run says why it does not continue. */
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { ConflictError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

describe('a command with an id', () => {
  test('counts once, also after the run is over and in another process', async () => {
    const path = storeFile()
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(path, { agent })
    const guest = await opened(path, {})
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    const approve = { type: 'tool.approve', callId: 'c' } as const
    await Promise.all([runs, guest, runs].map((each) => each.send('job', approve, { commandId: 'yes' })))
    expect((await run.result).output).toBe('Done.')
    await guest.send('job', approve, { commandId: 'yes' })
    expect(wiped).toEqual(['b'])
    // Without its id it is another command, and comes too late.
    await expect(runs.send('job', approve)).rejects.toThrow(/is over/)
  })

  test('joins the conversation once', async () => {
    const { agent, model } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(storeFile(), { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    for (let time = 0; time < 3; time += 1)
      await runs.send('job', { type: 'steer', text: 'Hurry!' }, { commandId: 'hurry' })
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    await run.result
    expect(JSON.stringify(model.requests.at(-1)?.messages).match(/Hurry!/g)).toHaveLength(1)
  })

  test('is refused if another command had the id', async () => {
    const { agent } = wiping([[callOf('c', 'b')]])
    const runs = await opened(storeFile(), { agent })
    await (await runs.start('agent', 'Wipe b', { id: 'job' })).result
    await runs.send('job', { type: 'steer', text: 'a' }, { commandId: 'one' })
    await expect(runs.send('job', { type: 'steer', text: 'b' }, { commandId: 'one' })).rejects.toThrow(
      ConflictError,
    )
    await expect(runs.send('job', { type: 'abort' }, { commandId: '' })).rejects.toThrow(/commandId must be/)
    // What was refused is not remembered.
    const late = { type: 'tool.approve', callId: 'unknown' } as const
    await expect(runs.send('job', late, { commandId: 'two' })).rejects.toThrow(/unknown/)
    await runs.send('job', { type: 'abort' }, { commandId: 'two' })
  })
})

describe('a fork', () => {
  /** A run whose approved tool is running. */
  const running = async () => {
    const ran: string[] = []
    const slow = tool({
      name: 'slow',
      description: 'Waits.',
      needsApproval: true,
      onInterrupted: 'rerun',
      execute: (_, { idempotencyKey }) => {
        ran.push(idempotencyKey)
        return new Promise(() => {})
      },
    })
    const call = [{ toolCall: { id: 'c', name: 'slow' } }]
    const model = scriptedModel([call, call])
    const runs = await opened(storeFile(), { agent: new Agent(model, { tools: [slow] }) })
    await (await runs.start('agent', 'Go', { id: 'job' })).result
    return { runs, ran, model }
  }

  test('asks again for what was approved in the other run, and does not claim that a process ended', async () => {
    const { runs, ran, model } = await running()
    await runs.send('job', { type: 'tool.approve', callId: 'c' })
    await expect.poll(() => ran.length).toBe(1)
    const fork = await runs.fork('job', { id: 'second' })
    expect((await fork.result).pendingApproval?.calls).toMatchObject([{ id: 'c' }])
    expect((await fork.result).pendingApproval?.calls[0]).not.toHaveProperty('inDoubt')
    expect(ran).toHaveLength(1)
    expect(JSON.stringify(model.requests)).not.toContain('process ended')
  })

  test('waits for the same, if nothing was decided yet', async () => {
    const { runs, model } = await running()
    const fork = await runs.fork('job', { id: 'second' })
    expect((await fork.result).pendingApproval?.calls).toMatchObject([{ id: 'c' }])
    expect(model.requests).toHaveLength(1)
  })
})

test('a run whose agent the owner does not have says so, in every process', async () => {
  const path = storeFile()
  const owner = await opened(path, { other: wiping([]).agent })
  const second = await opened(path, { agent: wiping(['Done.']).agent })
  const run = await second.start('agent', 'Hi', { id: 'job' })
  const reason = 'The process that runs the agents has no agent "agent".'
  for (const runs of [owner, second, await opened(path, {})]) {
    expect(await (await runs.get('job'))?.info()).toMatchObject({ status: 'running', blocked: reason })
    expect(await runs.list()).toMatchObject([{ blocked: reason }])
  }
  await owner.close()
  expect((await run.result).output).toBe('Done.')
  expect(await run.info()).not.toHaveProperty('blocked')
})

test('one damaged row concerns one run', async () => {
  const path = storeFile()
  const first = await opened(path, { agent: wiping([[callOf('c', 'b')], [callOf('c', 'b')]]).agent })
  for (const id of ['bad', 'good']) await (await first.start('agent', 'Wipe b', { id })).result
  await first.close()
  const file = open(path)
  file.exec(`INSERT INTO commands (run, data) VALUES (1, '{')`)
  file.close()
  const runs = await opened(path, { agent: wiping(['Done.']).agent })
  expect(await (await runs.get('bad'))?.info()).toMatchObject({ blocked: expect.stringMatching(/damaged/) })
  await runs.send('good', { type: 'tool.approve', callId: 'c' })
  expect((await (await runs.get('good'))?.result)?.output).toBe('Done.')
  const again = open(path)
  again.exec(`UPDATE runs SET status = 'happy' WHERE id = 'bad'`)
  again.close()
  expect(await runs.list()).toMatchObject([
    { id: 'good', status: 'complete' },
    { id: 'bad', status: 'abandoned', error: { message: expect.stringMatching(/happy/) } },
  ])
  expect([await runs.delete('bad'), (await runs.list()).length]).toEqual([true, 1])
})
