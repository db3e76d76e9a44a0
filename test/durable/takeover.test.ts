/** A store that two processes open: one owns it, and the other takes over when the first is gone. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { viewOf } from '../../src/durable/storeView.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

const changed = (path: string, sql: string): void => {
  const file = open(path)
  file.exec(sql)
  file.close()
}

describe('two processes that open a store', () => {
  test('have one owner, and the other is it a moment after the first is closed', async () => {
    const path = storeFile()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const owner = await opened(path, { agent: wiping([[{ hang: true }]]).agent })
    const other = await opened(path, { agent: wiping(['Done.']).agent })
    const owns = () =>
      Promise.all(
        [owner, other].map(async (runs) => [viewOf(runs)?.isOwner(), await viewOf(runs)?.hasOwner()]),
      )
    const run = await other.start('agent', 'Hi', { id: 'job' })
    expect(await owns()).toEqual([
      [true, true],
      [false, true],
    ])
    // It looks for changes, and begins what was left for it.
    expect(await run.info()).toMatchObject({ state: '', status: 'running' })
    vi.advanceTimersByTime(20)
    expect(await run.info()).toMatchObject({ state: 'Accumulating' })
    vi.advanceTimersByTime(1000)
    expect((await owns())[1]).toEqual([false, true])
    await owner.close()
    expect((await owns())[1]).toEqual([false, false])
    vi.advanceTimersByTime(240)
    expect((await owns())[1]).toEqual([true, true])
    expect((await run.result).output).toBe('Done.')
    expect(await run.info()).toMatchObject({ status: 'complete', recoveries: 0 })
  })

  test('share it: one runs, and the other takes over when it is gone', async () => {
    const path = storeFile()
    const [first, second] = [wiping(['One.', [{ hang: true }]]), wiping(['Two.'])]
    const owner = await opened(path, { agent: first.agent })
    const other = await opened(path, { agent: second.agent })
    const run = await other.start('agent', 'Hi', { id: 'one' })
    expect((await run.result).output).toBe('One.')
    expect(await run.info()).toMatchObject({ recoveries: 0 })
    await other.start('agent', 'Hi', { id: 'two' })
    const stuck = await owner.get('two')
    for await (const { chunk } of stuck?.stream() ?? []) if (chunk.messages.length > 0) break
    await owner.close()
    expect((await (await other.get('two'))?.result)?.output).toBe('Two.')
    first.model.assertDone()
    second.model.assertDone()
  })

  test('both start a run of the same id: it runs once', async () => {
    const path = storeFile()
    const [first, second] = [wiping(['One.']), wiping([])]
    const owner = await opened(path, { agent: first.agent })
    const other = await opened(path, { agent: second.agent })
    const runs = await Promise.all([
      other.start('agent', 'Hi', { id: 'a' }),
      owner.start('agent', 'Hi', { id: 'a' }),
    ])
    for (const run of runs) expect((await run.result).output).toBe('One.')
    first.model.assertDone()
  })

  test('see each other’s chats, forks and prunings', async () => {
    const path = storeFile()
    const { agent } = wiping(['One.', 'Two.', 'Three.'])
    const owner = await opened(path, { agent })
    const other = await opened(path, { agent: wiping([]).agent })
    const chat = await other.chat('c')
    await (await chat.send('1?')).result
    await (await chat.send('2?')).result
    expect(await (await owner.chat('c')).history()).toHaveLength(4)
    const [newest] = await other.list()
    const fork = await other.fork(newest?.id ?? '')
    expect((await fork.result).output).toBe('Three.')
    expect(await other.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(2)
    expect(await owner.list()).toHaveLength(1)
  })

  test('decide on a call at the same moment: the first counts, and the second is refused', async () => {
    const path = storeFile()
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Kept.'])
    const owner = await opened(path, { agent })
    const guest = await opened(path, {})
    const run = await owner.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    // The owner has not seen the rejection yet when the approval comes.
    const decisions = await Promise.allSettled([
      guest.send('job', { type: 'tool.reject', callId: 'c' }),
      owner.send('job', { type: 'tool.approve', callId: 'c' }),
    ])
    expect(decisions.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect((await run.result).output).toBe('Kept.')
    expect(wiped).toEqual([])
  })

  test('a command that came too late is forgotten', async () => {
    const path = storeFile()
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(path, { agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    // As if two processes had decided at the same moment.
    for (const type of ['tool.approve', 'tool.approve', 'tool.reject'])
      changed(path, `INSERT INTO commands (run, data) VALUES (1, '${JSON.stringify({ type, callId: 'c' })}')`)
    expect((await run.result).output).toBe('Done.')
    expect(wiped).toEqual(['b'])
    await expect
      .poll(() => {
        const file = open(path)
        const rest = file.prepare('SELECT n FROM commands').all()
        file.close()
        return rest
      })
      .toEqual([])
  })
})
