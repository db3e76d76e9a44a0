/** A file that fails gives a clear error, and what was acknowledged is still there when it works again. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { findDriver, type OpenDriver, type SqliteDriver } from '../../src/durable/sqlite/driver.ts'
import { ConfigurationError, OrchestrationError } from '../../src/messages/errors.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { builtScript, Script } from './builtScript.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

const open = await findDriver()

/** The connections that a store uses for its runs, to be changed under its feet. */
const watched = (path: string): { driver: OpenDriver; connections: SqliteDriver[] } => {
  const connections: SqliteDriver[] = []
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    if (at !== path) return connection
    connections.push(connection)
    return {
      prepare: (sql) => connection.prepare(sql),
      close: () => connection.close(),
      exec: (sql) => connection.exec(sql),
    }
  }
  return { driver, connections }
}

const broken: [string, (connection: SqliteDriver) => void, (connection: SqliteDriver) => void, RegExp][] = [
  [
    'a full disk',
    (connection) => connection.exec('PRAGMA max_page_count = 1'),
    (connection) => connection.exec('PRAGMA max_page_count = 1000000'),
    /^The disk is full/,
  ],
  [
    'a file that became read-only',
    (connection) => connection.exec('PRAGMA query_only = ON'),
    (connection) => connection.exec('PRAGMA query_only = OFF'),
    /cannot be written: .* read-only/,
  ],
]

describe.each(broken)('%s', (_, fail, mend, message) => {
  test('pauses what runs, says why, and lets it continue when it works again', async () => {
    const path = storeFile()
    const { driver, connections } = watched(path)
    const clock = new SimulatedClock()
    const wiped: string[] = []
    const wipe = tool({
      name: 'wipe',
      description: 'Wipes a file.',
      input: z.object({ file: z.string() }),
      execute: async ({ file }) => {
        wiped.push(file)
        return `wiped ${file}`
      },
    })
    let asked = 0
    // The second answer is long, and as long again when it is asked for again: a short one might still find room.
    const model: ChatModel = {
      ...scriptedModel([]),
      stream: (request, sink) => {
        asked += 1
        const long = [{ text: 'x'.repeat(20_000) }, callOf('c2', 'a2')]
        const held = asked === 2 ? [{ delayMs: 1 }, ...long] : long
        const results = request.messages.flatMap(toolResultsOf).length
        const turn = [[callOf('c1', 'a1')], held][results] ?? 'Done.'
        return scriptedModel([turn], { clock }).stream(request, sink)
      },
    }
    const runs = await opened(path, { agent: new Agent(model, { tools: [wipe] }) }, { driver })
    const run = await runs.start('agent', 'Wipe them', { id: 'job' })
    await expect.poll(() => asked).toBe(2)
    for (const connection of connections) fail(connection)
    clock.increment(1)
    await expect.poll(async () => (await run.info()).blocked).toMatch(message)
    // The second call was asked for, but its step could not be stored: it has not begun.
    expect(wiped).toEqual(['a1'])
    for (const connection of connections) mend(connection)
    // It continues by itself: the answer that could not be stored is asked for again.
    expect((await run.result).answer).toBe('Done.')
    expect(await run.info()).not.toHaveProperty('blocked')
    expect(wiped).toEqual(['a1', 'a2'])
    expect(asked).toBeGreaterThan(3)
  })

  test.each(['unknown', 'ask', 'rerun'] as const)(
    'keeps the result of a tool, and stores it when it works again: %s',
    async (onInterrupted) => {
      const path = storeFile()
      const { driver, connections } = watched(path)
      const ends: (() => void)[] = []
      const worked = 'worked '.repeat(2000)
      const execute = () => new Promise<string>((resolve) => ends.push(() => resolve(worked)))
      const work = tool({ name: 'work', description: 'Works.', onInterrupted, execute })
      const model = scriptedModel([[{ toolCall: { id: 'c', name: 'work' } }], 'Done.'])
      const runs = await opened(path, { agent: new Agent(model, { tools: [work] }) }, { driver })
      const run = await runs.start('agent', 'Work', { id: 'job' })
      await expect.poll(() => ends.length).toBe(1)
      for (const connection of connections) fail(connection)
      for (const end of ends) end()
      await expect.poll(async () => (await run.info()).blocked).toMatch(message)
      for (const connection of connections) mend(connection)
      const { output, messages } = await run.result
      expect(output).toBe('Done.')
      expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual([worked])
      expect(ends).toHaveLength(1)
      model.assertDone()
    },
  )

  test('refuses a decision, and takes it when it works again', async () => {
    const path = storeFile()
    const { driver, connections } = watched(path)
    const { agent, wiped } = wiping([[callOf('c', 'b')], 'Done.'])
    const runs = await opened(path, { agent }, { driver })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    for (const connection of connections) fail(connection)
    const decide = () =>
      runs.send('job', { type: 'tool.approve', callId: 'c', arguments: { file: 'b'.repeat(5000) } })
    await expect(decide()).rejects.toThrow(message)
    expect(wiped).toEqual([])
    expect((await run.info()).status).toBe('waiting')
    for (const connection of connections) mend(connection)
    await decide()
    expect((await run.result).output).toBe('Done.')
    expect(wiped).toHaveLength(1)
  })

  test('starts nothing that it cannot store', async () => {
    const path = storeFile()
    const { driver, connections } = watched(path)
    const { agent, model } = wiping(['Hello.'])
    const runs = await opened(path, { agent }, { driver })
    for (const connection of connections) fail(connection)
    await expect(runs.start('agent', 'x'.repeat(5000))).rejects.toThrow(message)
    expect(await runs.list()).toEqual([])
    expect(model.requests).toEqual([])
    for (const connection of connections) mend(connection)
    expect((await (await runs.start('agent', 'Hi')).result).output).toBe('Hello.')
  })
})

test('a file that another program holds is waited for, then refused', async () => {
  const path = storeFile()
  const { driver } = watched(path)
  const { agent } = wiping([[callOf('c', 'b')], 'Done.'])
  const runs = await opened(path, { agent }, { driver })
  const run = await runs.start('agent', 'Wipe b', { id: 'job' })
  await run.result
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  await expect(runs.send('job', { type: 'tool.approve', callId: 'c' })).rejects.toThrow(
    /is locked: another program/,
  )
  await expect(opened(path, { agent }, { driver }).then((each) => each.start('agent', 'Hi'))).rejects.toThrow(
    /is locked/,
  )
  other.exec('ROLLBACK')
  other.close()
  await runs.send('job', { type: 'tool.approve', callId: 'c' })
  expect((await run.result).output).toBe('Done.')
})

test('a store that another program locks for long pauses what runs, which continues when it is let go', async () => {
  const path = storeFile()
  const clock = new SimulatedClock()
  const second = [{ delayMs: 1 }, { text: 'Now the second.' }, callOf('c2', 'a2')]
  const { agent, model, wiped } = wiping(
    [[callOf('c1', 'a1')], second, [callOf('c2', 'a2')], 'Done.'],
    {},
    { clock },
  )
  const runs = await opened(path, { agent })
  const run = await runs.start('agent', 'Wipe them', { id: 'job' })
  await expect.poll(() => model.requests.length).toBe(2)
  const other = open(path)
  other.exec('PRAGMA busy_timeout = 30000')
  other.exec('BEGIN IMMEDIATE')
  clock.increment(1)
  await expect.poll(async () => (await run.info()).blocked).toMatch(/is locked: another program/)
  // The step could not be stored: its call has not begun.
  expect(wiped).toEqual(['a1'])
  other.exec('ROLLBACK')
  other.close()
  expect((await run.result).output).toBe('Done.')
  expect(await run.info()).not.toHaveProperty('blocked')
  expect(wiped).toEqual(['a1', 'a2'])
  model.assertDone()
})

/** A driver that adds up the time for which it may wait for a lock that it does not get. */
const waitingDriver = (): { driver: OpenDriver; waitedMs: () => number } => {
  let waitedMs = 0
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    let patience = 0
    return {
      prepare: (sql) => connection.prepare(sql),
      close: () => connection.close(),
      exec: (sql) => {
        patience = Number(/^PRAGMA busy_timeout = (\d+)$/.exec(sql)?.[1] ?? patience)
        try {
          connection.exec(sql)
        } catch (thrown) {
          if (sql === 'BEGIN IMMEDIATE') waitedMs += patience
          throw thrown
        }
      },
    }
  }
  return { driver, waitedMs: () => waitedMs }
}

test('while another program locks the store, tools that end leave no call in doubt, and the process does not stop for it', async () => {
  const path = storeFile()
  const { driver, waitedMs } = waitingDriver()
  const ends: (() => void)[] = []
  const execute = () => new Promise<string>((resolve) => ends.push(() => resolve('worked')))
  const work = tool({ name: 'work', description: 'Works.', execute })
  const count = 20
  // Each asks twice: a second request would say that the first result was lost.
  const turns = Array.from({ length: 2 * count }, (_, n) =>
    n < count ? [{ text: 'So.' }, { toolCall: { id: 'c', name: 'work' } }] : 'Done.',
  )
  const model = scriptedModel(turns)
  const runs = await opened(path, { agent: new Agent(model, { tools: [work] }) }, { driver })
  const started = []
  for (let n = 0; n < count; n += 1) started.push(await runs.start('agent', 'Work', { id: `job ${n}` }))
  await expect.poll(() => ends.length).toBe(count)
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  for (const end of ends) end()
  for (const run of started)
    await expect.poll(async () => (await run.info()).blocked).toMatch(/is locked: another program/)
  expect(waitedMs()).toBeLessThanOrEqual(100)
  other.exec('ROLLBACK')
  other.close()
  for (const run of started) {
    const { messages } = await run.result
    expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual(['worked'])
    expect(await run.info()).toMatchObject({ status: 'complete', recoveries: 0 })
  }
  model.assertDone()
})

test('while another program locks the store, a sub-agent that answers beside a tool waits, and the tool is not in doubt', async () => {
  const path = storeFile()
  const { driver, waitedMs } = waitingDriver()
  const clock = new SimulatedClock()
  let end = () => {}
  const work = tool({
    name: 'work',
    description: 'Works.',
    execute: () =>
      new Promise<string>((resolve) => {
        end = () => resolve('worked')
      }),
  })
  const look = tool({ name: 'look', description: 'Looks.', execute: () => 'a view' })
  const helping = scriptedModel(
    [[{ delayMs: 1 }, { text: 'I look.' }, { toolCall: { id: 'l', name: 'look' } }], 'I looked.'],
    { clock },
  )
  const help = new Agent(helping, { tools: [look] }).asTool({ name: 'help', description: 'Helps.' })
  const calls = [
    { toolCall: { id: 'w', name: 'work' } },
    { toolCall: { id: 'h', name: 'help', arguments: { prompt: 'Look.' } } },
  ]
  const model = scriptedModel([calls, 'Done.'])
  const agent = new Agent(model, { tools: [work, help], toolExecution: 'parallel' })
  const runs = await opened(path, { agent }, { driver })
  const run = await runs.start('agent', 'Work', { id: 'job' })
  await expect.poll(() => helping.requests.length).toBe(1)
  const other = open(path)
  other.exec('BEGIN IMMEDIATE')
  clock.increment(1)
  await expect.poll(async () => (await run.info()).blocked).toMatch(/is locked: another program/)
  expect(waitedMs()).toBeLessThanOrEqual(100)
  other.exec('ROLLBACK')
  other.close()
  await expect.poll(() => helping.requests.length).toBe(2)
  end()
  const { output, messages } = await run.result
  expect(output).toBe('Done.')
  expect(messages.flatMap(toolResultsOf).map(({ result }) => result)).toEqual([
    'worked',
    'I look.\nI looked.',
  ])
  expect(await run.info()).toMatchObject({ status: 'complete', recoveries: 0 })
  helping.assertDone()
  model.assertDone()
})

test('while another process has the store to itself, runs with tools pause, the process works on, and nothing is doubled', async () => {
  const path = storeFile()
  const { driver, waitedMs } = waitingDriver()
  const script = await builtScript('lockProcess')
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = tool({
    name: 'work',
    description: 'Works.',
    execute: (_, { callId, idempotencyKey }) => {
      begun.push(idempotencyKey)
      return new Promise<string>((resolve) => ends.push(() => resolve(`worked ${callId}`)))
    },
  })
  const call = (id: string) => ({ toolCall: { id, name: 'work' } })
  const turns = [[call('a'), call('b')], [call('c'), call('d')], 'Done.'] as const
  const model = scriptedModel(turns.flatMap((turn) => [turn, turn, turn]))
  const agent = new Agent(model, { tools: [work], toolExecution: 'parallel' })
  const runs = await opened(path, { agent }, { driver })
  const started = []
  for (const id of ['x', 'y', 'z']) started.push(await runs.start('agent', 'Work', { id }))
  await expect.poll(() => begun).toHaveLength(6)
  const other = new Script(script, [path])
  await other.line('locked')
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
  }, 0)
  onTestFinished(() => clearInterval(timer))
  for (const end of ends.splice(0)) end()
  for (const run of started)
    await expect.poll(async () => (await run.info()).blocked).toMatch(/is locked: another program/)
  // Everything but its writes goes on, while the runs try again and again.
  const before = ticks
  await expect.poll(() => ticks - before).toBeGreaterThan(300)
  expect(waitedMs()).toBeLessThanOrEqual(100)
  const blocked = { status: 'running', blocked: expect.stringMatching(/is locked/) }
  expect(await runs.list()).toMatchObject([blocked, blocked, blocked])
  expect(begun).toHaveLength(6)
  expect(model.requests).toHaveLength(3)
  await other.kill()
  await expect.poll(() => begun).toHaveLength(12)
  for (const end of ends) end()
  for (const run of started) {
    const { output, messages } = await run.result
    expect(output).toBe('Done.')
    const results = messages.flatMap(toolResultsOf).map(({ result }) => result)
    expect(results).toEqual(['worked a', 'worked b', 'worked c', 'worked d'])
    expect(await run.info()).toMatchObject({ status: 'complete', recoveries: 0 })
    expect(await run.info()).not.toHaveProperty('blocked')
  }
  expect(new Set(begun).size).toBe(begun.length)
  model.assertDone()
})

test('a new file that others make at the same time is opened once they have', async () => {
  const path = storeFile()
  let refusals = 3
  // What SQLite does to one of two that would wait for each other, without waiting itself.
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    return {
      exec: (sql) => connection.exec(sql),
      close: () => connection.close(),
      prepare: (sql) => {
        if (sql === 'PRAGMA journal_mode = WAL' && refusals > 0) {
          refusals -= 1
          throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
        }
        return connection.prepare(sql)
      },
    }
  }
  const runs = await opened(path, { agent: wiping(['Hello.']).agent }, { driver })
  expect((await (await runs.start('agent', 'Hi')).result).output).toBe('Hello.')
  expect(refusals).toBe(0)
})

/** Makes the tables of a file, as another process does: all of them, or none while a third one reads. */
const makeElsewhere = async (path: string): Promise<() => void> => {
  const template = storeFile()
  await (await opened(template, { agent: wiping([]).agent })).close()
  const made = open(template)
  const all = (sql: string): Record<string, unknown>[] => made.prepare(sql).all() as Record<string, unknown>[]
  const tables = all("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
  const marks = ['application_id', 'user_version'].map(
    (name) => `PRAGMA ${name} = ${String(all(`PRAGMA ${name}`)[0]?.[name])}`,
  )
  made.close()
  return () => {
    const other = open(path)
    try {
      other.exec('PRAGMA busy_timeout = 0')
      other.exec('BEGIN IMMEDIATE')
      for (const { sql } of tables) other.exec(String(sql))
      for (const sql of marks) other.exec(sql)
      other.exec('COMMIT')
    } catch {
      // It waits until no process reads.
    } finally {
      other.close()
    }
  }
}

test.each([1, 2, 3])('a file that becomes ours before it is read for the %i. time is opened', async (nth) => {
  const path = storeFile()
  const make = await makeElsewhere(path)
  let reads = 0
  const driver: OpenDriver = (at) => {
    const connection = open(at)
    return {
      exec: (sql) => connection.exec(sql),
      close: () => connection.close(),
      prepare: (sql) => {
        const isLook = /^PRAGMA (user_version|application_id)$|sqlite_master/.test(sql)
        if (isLook && at === path) {
          reads += 1
          if (reads === nth) make()
        }
        return connection.prepare(sql)
      },
    }
  }
  const runs = await opened(path, { agent: wiping(['Hello.']).agent }, { driver })
  expect((await (await runs.start('agent', 'Hi')).result).output).toBe('Hello.')
  expect(reads).toBeGreaterThanOrEqual(3)
})

describe('a file that cannot be used', () => {
  const refused = async (path: string) =>
    opened(path, { agent: wiping([]).agent }).then(
      () => undefined,
      (thrown) => thrown,
    )

  test('because it is no database', async () => {
    const path = storeFile()
    writeFileSync(path, 'Dear diary, today I have written no database at all. '.repeat(100))
    const before = readFileSync(path)
    const error = await refused(path)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(/is not an SQLite database/)
    expect(readFileSync(path)).toEqual(before)
  })

  test('because it belongs to another program', async () => {
    const path = storeFile()
    const other = open(path)
    other.exec('CREATE TABLE notes (text TEXT)')
    other.close()
    const error = await refused(path)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(/is a database of another program/)
  })

  test('because a newer release wrote it', async () => {
    const path = storeFile()
    await (await opened(path, { agent: wiping([]).agent })).close()
    const newer = open(path)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    const error = await refused(path)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(/written by a newer release of statewire .* update statewire/)
  })

  test('because its folder is not there', async () => {
    const error = await refused(`${storeFile()}/nowhere/runs.db`)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(/cannot be opened: its folder must exist/)
  })

  test('because it is damaged', async () => {
    const path = storeFile()
    const { agent } = wiping([[callOf('c', 'b')]])
    const runs = await opened(path, { agent })
    await (await runs.start('agent', 'Wipe b', { id: 'job' })).result
    await runs.close()
    const whole = open(path)
    whole.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    whole.close()
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(readFileSync(path).length - 1024, 0xff), 0, undefined, 1024)
    closeSync(file)
    const error = await refused(path)
    expect(error).toBeInstanceOf(OrchestrationError)
    expect(error.message).toMatch(/is damaged/)
  })
})

describe('a run whose data is damaged', () => {
  test('while it waits can be aborted, and says what is wrong with other commands', async () => {
    const path = storeFile()
    const runs = await opened(path, { agent: wiping([[callOf('c', 'b')]]).agent })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    await run.result
    const file = open(path)
    file.exec(`UPDATE runs SET head = '{'`)
    file.close()
    await expect(runs.send('job', { type: 'steer', text: 'Hurry!' })).rejects.toThrow(/data is damaged/)
    await runs.send('job', { type: 'abort' })
    expect(await run.info()).toMatchObject({
      status: 'abandoned',
      error: { message: expect.stringMatching(/damaged/) },
    })
  })

  test.each([
    ['no JSON', `UPDATE runs SET head = '{' WHERE id = 'job'`],
    ['no snapshot', `UPDATE runs SET head = '{"snapshot":5}' WHERE id = 'job'`],
    ['a message that is gone', 'DELETE FROM items'],
    ['a message that is not a message', `UPDATE items SET data = '5'`],
  ])('is abandoned with a reason, and the others continue: %s', async (_, sql) => {
    const path = storeFile()
    const first = await opened(path, { agent: wiping([[{ hang: true }]]).agent })
    await first.start('agent', 'Hi', { id: 'job' })
    await first.close()
    const file = open(path)
    file.exec(sql)
    file.close()
    const runs = await opened(path, { agent: wiping(['Hello.']).agent })
    const run = await runs.get('job')
    expect(await run?.info()).toMatchObject({ status: 'abandoned', error: { message: expect.any(String) } })
    await expect(run?.result).rejects.toThrow(/damaged|not a snapshot/)
    expect((await (await runs.start('agent', 'Hi')).result).output).toBe('Hello.')
  })
})
