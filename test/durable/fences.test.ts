/** A process that lost its runs to another one, however that happened, does nothing more with them. */
import { linkSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findDriver } from '../../src/durable/sqlite/driver.ts'
import { viewOf } from '../../src/durable/storeView.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

/** Takes the lock of a store away from its owner, as a process does that reads the file of the lock and closes it. */
const dropLock = (path: string): void => {
  renameSync(`${path}-owner`, `${path}-owner-old`)
}

describe('the same file under another name', () => {
  test('has one owner, also through a link', async () => {
    const path = storeFile()
    const link = `${path}-link`
    symlinkSync(path, link)
    const first = await opened(link, { agent: wiping([]).agent })
    const second = await opened(path, { agent: wiping([]).agent })
    expect([viewOf(first)?.isOwner(), viewOf(second)?.isOwner()]).toEqual([true, false])
  })

  test('is refused as a hard link: SQLite would damage it', async () => {
    const path = storeFile()
    await (await opened(path, { agent: wiping([]).agent })).close()
    linkSync(path, `${path}-2`)
    await expect(opened(`${path}-2`, { agent: wiping([]).agent })).rejects.toThrow(/hard link/)
  })
})

describe('an owner that lost its lock without a word', () => {
  test('stops before the next effect, and leaves its runs to the other one', async () => {
    const path = storeFile()
    const first = wiping([[callOf('c', 'b')], 'Never.'])
    const before = await opened(path, { agent: first.agent })
    const run = await before.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    dropLock(path)
    const second = wiping(['Done.'])
    const after = await opened(path, { agent: second.agent })
    expect(viewOf(after)?.isOwner()).toBe(true)
    // The first still believes that it is the owner. What it is sent is for the second.
    await before.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await run.result).output).toBe('Done.')
    expect([first.wiped, second.wiped]).toEqual([[], ['b']])
    expect(viewOf(before)?.isOwner()).toBe(false)
    second.model.assertDone()
  })

  test('leaves new runs to the other one, too', async () => {
    const path = storeFile()
    const first = wiping([])
    const before = await opened(path, { agent: first.agent })
    dropLock(path)
    const second = wiping(['Done.'])
    await opened(path, { agent: second.agent })
    const run = await before.start('agent', 'Hi', { id: 'job' })
    expect((await run.result).output).toBe('Done.')
    expect(first.model.requests).toHaveLength(0)
  })

  test('runs no tool that the other one runs, in any of many changes of the owner', async () => {
    const path = storeFile()
    const length = Number(process.env.FENCE_OWNERS ?? '20')
    const calls = Array.from({ length }, (_, index) => [callOf(`c${index}`, `b${index}`)])
    const options = { maxSteps: length + 1 }
    const wiped: string[] = []
    for (let owner = 0; owner < length; owner += 1) {
      const own = wiping([...calls.slice(owner + 1), 'Done.'], options)
      const first = owner === 0 ? wiping([calls[0] ?? []], options) : undefined
      const runs = await opened(path, { agent: (first ?? own).agent })
      if (first) await (await runs.start('agent', 'Wipe', { id: 'job' })).result
      dropLock(path)
      const other = wiping([...calls.slice(owner + 1), 'Done.'], options)
      const taken = await opened(path, { agent: other.agent })
      await Promise.all([
        runs.send('job', { type: 'tool.approve', callId: `c${owner}` }),
        taken.send('job', { type: 'tool.approve', callId: `c${owner}` }).catch(() => {}),
      ])
      await (await taken.get('job'))?.result
      wiped.push(...own.wiped, ...(first?.wiped ?? []), ...other.wiped)
      await runs.close()
      await taken.close()
    }
    expect(wiped).toEqual(calls.map((_, index) => `b${index}`))
  }, 3_600_000)
})

test('an old incarnation of a run cannot write', async () => {
  const path = storeFile()
  const { agent, wiped } = wiping([[callOf('c', 'b')], [{ hang: true }]])
  const runs = await opened(path, { agent })
  await (await runs.start('agent', 'Wipe b', { id: 'job' })).result
  await runs.send('job', { type: 'tool.approve', callId: 'c' })
  await expect.poll(() => wiped).toEqual(['b'])
  const file = open(path)
  file.exec('UPDATE runs SET life = life + 1')
  const stored = () => Object(file.prepare('SELECT head FROM runs').get()).head
  const before = stored()
  await runs.send('job', { type: 'steer', text: 'Faster!' })
  expect(stored()).toEqual(before)
  file.close()
})

describe('a file that is deleted or replaced while a process has it open', () => {
  test.each([
    ['deleted', (path: string) => rmSync(path)],
    ['deleted with its log', (path: string) => void ['', '-wal', '-shm'].map((end) => rmSync(path + end))],
    ['replaced by a backup', (path: string) => renameSync(`${path}-copy`, path)],
  ])('that is %s: nothing is acknowledged that would be lost', async (_, replace) => {
    const path = storeFile()
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Wipe b', { id: 'job' })).result
    await runs.backup(`${path}-copy`)
    replace(path)
    await expect(runs.send('job', { type: 'tool.approve', callId: 'c' })).rejects.toThrow(
      /deleted or replaced/,
    )
    await expect(runs.start('agent', 'Hi', { id: 'other' })).rejects.toThrow(/deleted or replaced/)
    expect(wiped).toEqual([])
  })
})

describe('another SQLite library in the process', () => {
  /** Does to the file what such a library does when it closes it: it does not see the locks of ours. */
  const closeElsewhere = (path: string): void => {
    const file = open(path)
    file.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    file.close()
    for (const end of ['-wal', '-shm']) rmSync(path + end)
  }

  test('may close the file: what is acknowledged after that is stored', async () => {
    const path = storeFile()
    const { agent } = wiping(['One.', 'Two.'])
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Hi', { id: 'one' })).result
    closeElsewhere(path)
    await (await runs.start('agent', 'Hi', { id: 'two' })).result
    // As after a kill: only what is on the disk counts.
    const copy = `${path}-copy`
    await runs.backup(copy)
    for (const end of ['', '-wal']) expect(readFileSync(path + end).length).toBeGreaterThan(0)
    const file = open(copy)
    expect(file.prepare('SELECT id FROM runs ORDER BY n').all()).toEqual([{ id: 'one' }, { id: 'two' }])
    file.close()
  })
})

describe('backup', () => {
  test('is a whole store, made while runs are under way', async () => {
    const path = storeFile()
    const { agent } = wiping([[callOf('c', 'b')]])
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Wipe b', { id: 'job' })).result
    await runs.backup(`${path}-copy`)
    const later = wiping(['Done.'])
    const copy = await opened(`${path}-copy`, { agent: later.agent })
    await copy.send('job', { type: 'tool.approve', callId: 'c' })
    expect((await (await copy.get('job'))?.result)?.output).toBe('Done.')
    expect(await (await runs.get('job'))?.info()).toMatchObject({ status: 'waiting' })
    await expect(runs.backup(`${path}-copy`)).rejects.toThrow(/exists/)
  })
})
