/** A file that cannot be read for a moment, as while another process opens or closes it: callers wait, and are not misled. */
import { expect, test } from 'vitest'
import type { DurableChunk } from '../../src/durable/index.ts'
import { findDriver, type OpenDriver, type SqliteStatement } from '../../src/durable/sqlite/driver.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

/** A driver whose looks at the file fail as at a locked one, a few times for each statement, while a test wants that. */
const lockedDriver = (): { driver: OpenDriver; lock(isLocked: (sql: string) => boolean): void } => {
  let isLocked = (_: string): boolean => false
  const left = new Map<string, number>()
  const look = (sql: string): void => {
    const times = left.get(sql) ?? 2
    if (times === 0 || !isLocked(sql)) return
    left.set(sql, times - 1)
    throw Object.assign(new Error('database is locked'), { errcode: 5 })
  }
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    const watched = (sql: string, statement: SqliteStatement): SqliteStatement => ({
      run: (...values) => statement.run(...values),
      get: (...values) => {
        look(sql)
        return statement.get(...values)
      },
      all: (...values) => {
        look(sql)
        return statement.all(...values)
      },
    })
    return {
      exec: (sql) => connection.exec(sql),
      close: () => connection.close(),
      prepare: (sql) => watched(sql, connection.prepare(sql)),
    }
  }
  return {
    driver,
    lock: (which) => {
      left.clear()
      isLocked = which
    },
  }
}

test('a decision that is stored was taken, although nothing can be read right after it', async () => {
  const { driver, lock } = lockedDriver()
  const path = storeFile()
  const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'])
  const owner = await opened(path, { agent })
  await (await owner.start('agent', 'Wipe b', { id: 'job' })).result
  const guest = await opened(path, {}, { driver })
  let looks = 0
  // The first look at the commands judges the decision; the second one comes when it is stored.
  lock((sql) => {
    if (sql.includes('FROM commands WHERE run')) looks += 1
    return looks === 2
  })
  await expect(guest.send('job', { type: 'tool.approve', callId: 'c' })).resolves.toBe('queued')
  lock(() => false)
  expect((await (await owner.get('job'))?.result)?.output).toBe('Done.')
  expect(wiped).toEqual(['b'])
})

test('a reader of a run waits until it can be read', async () => {
  const { driver, lock } = lockedDriver()
  const path = storeFile()
  const { agent } = wiping([[callOf('c', 'b')], 'Done.'])
  await opened(path, { agent })
  const runs = await opened(path, { agent }, { driver })
  const locked = <T>(read: () => Promise<T>): Promise<T> => {
    lock((sql) => sql.includes('FROM'))
    return read()
  }
  const run = await locked(() => runs.start('agent', 'Wipe b', { id: 'job' }))
  expect((await locked(() => run.result)).pendingApproval?.calls).toMatchObject([{ id: 'c' }])
  expect(await locked(() => run.info())).toMatchObject({ status: 'waiting' })
  expect(await locked(() => runs.list())).toMatchObject([{ id: 'job' }])
  expect((await locked(() => runs.get('job')))?.id).toBe('job')
  expect(await locked(() => runs.health())).toMatchObject({ waiting: 1 })
  const shown: DurableChunk[] = []
  const chunks = run.stream()
  for (let next = await locked(() => chunks.next()); !next.done; next = await locked(() => chunks.next()))
    shown.push(next.value.chunk)
  expect(shown.at(-1)?.pendingApproval).toBeDefined()
  const chat = await locked(() => runs.chat('chat', { agent: 'agent' }))
  expect(await locked(() => chat.history())).toEqual([])
})
