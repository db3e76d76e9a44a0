/** The options of a store, the driver that is taken, and the files that are refused. */
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type OpenOptions, openRuns, sqlite } from '../../src/durable/index.ts'
import { findDriver, type OpenDriver, type SqliteDriver } from '../../src/durable/sqlite/driver.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { opened, storeFile } from './storeFile.ts'
import { wiping } from './wiping.ts'

const open = await findDriver()
const { agent } = wiping([])

afterEach(() => {
  vi.restoreAllMocks()
})

describe('options', () => {
  test.each([
    ['no store', {}, 'store must be an object'],
    ['a path', { store: 'runs.db' }, "store must be a store, not a path: write store: sqlite('runs.db')."],
    [
      'a store of something else',
      { store: { path: 'runs.db' } },
      'store must be a store, such as sqlite(path).',
    ],
    ['agents that are a list', { store: sqlite('x'), agents: [agent] }, 'agents must be an object'],
    [
      'an agent that cannot send',
      { store: sqlite('x'), agents: { agent, b: { sendStream() {} } } },
      'agents.b has no function "send": write new Agent(model, options).',
    ],
    [
      'an agent that cannot stream',
      { store: sqlite('x'), agents: { b: { send() {} } } },
      'agents.b has no function "sendStream": write new Agent(model, options).',
    ],
    ['recoveries that are a half', { store: sqlite('x'), maxRecoveries: 0.5 }, 'maxRecoveries must be'],
    ['nothing', undefined, 'The options of openRuns must be an object'],
  ])('such as %s are refused', async (_, options, message) => {
    const opening = openRuns(options as OpenOptions)
    await expect(opening).rejects.toBeInstanceOf(ConfigurationError)
    await expect(opening).rejects.toThrow(message)
  })

  test.each([[''], [5], [undefined]])('a path such as %j is refused', (path) => {
    const problem = path === '' ? 'is empty: write' : 'must be'
    expect(() => sqlite(path as string)).toThrow(`The path of a store ${problem} the path of a file`)
    expect(() => sqlite(':memory:')).toThrow('The path of a store cannot be ":memory:"')
  })

  test('a driver must be a function', () => {
    expect(() => sqlite('runs.db', { driver: 5 as never })).toThrow('driver must be a function')
  })
})

/** The usual driver, with some of its methods in other words. */
const changed =
  (change: (connection: SqliteDriver) => Partial<SqliteDriver>): OpenDriver =>
  (path) => {
    const connection = open(path)
    return {
      exec: (sql) => connection.exec(sql),
      prepare: (sql) => connection.prepare(sql),
      close: () => connection.close(),
      ...change(connection),
    }
  }

describe('a file', () => {
  test('on a disk that cannot be shared is refused, and closed', async () => {
    let closed = 0
    const driver = changed((connection) => ({
      prepare: (sql) =>
        sql === 'PRAGMA journal_mode = WAL'
          ? { ...connection.prepare('SELECT 1'), get: () => ({ journal_mode: 'delete' }) }
          : connection.prepare(sql),
      close: () => {
        closed += 1
        return connection.close()
      },
    }))
    await expect(opened(storeFile(), { agent }, { driver })).rejects.toThrow(
      /is on a disk that SQLite cannot share between processes: use a local one\.$/,
    )
    expect(closed).toBe(1)
  })

  test('that stays locked is tried for five seconds, then refused', async () => {
    let tries = 0
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const driver = changed(() => ({
      prepare: () => {
        tries += 1
        now += 2500
        throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })
      },
    }))
    await expect(opened(storeFile(), { agent }, { driver })).rejects.toThrow(/is locked/)
    expect([tries, now]).toEqual([3, 7500])
  })

  test.each([
    ['has a version of another program', ['PRAGMA user_version = 1']],
    ['has tables of another program', ['CREATE TABLE notes (text TEXT)']],
    ['has the mark of another program', ['PRAGMA application_id = 5', 'CREATE TABLE notes (text TEXT)']],
  ])('that %s is refused, and not touched', async (_, statements) => {
    const path = storeFile()
    const file = open(path)
    for (const sql of statements) file.exec(sql)
    file.close()
    await expect(opened(path, { agent })).rejects.toThrow(/is a database of another program/)
    const after = open(path)
    onTestFinished(() => void after.close())
    expect(after.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'delete' })
  })

  test('of the next release is refused, and names both versions', async () => {
    const path = storeFile()
    await (await opened(path, { agent })).close()
    const file = open(path)
    file.exec('PRAGMA user_version = 6')
    file.close()
    await expect(opened(path, { agent })).rejects.toThrow('(its version is 6, this release knows 5)')
  })

  test('that is ours has its mark, small pages and a log', async () => {
    const path = storeFile()
    const runs = await opened(path, { agent })
    const file = open(path)
    onTestFinished(() => void file.close())
    const pragma = (name: string) => Object.values(Object(file.prepare(`PRAGMA ${name}`).get()))[0]
    expect(pragma('application_id')).toBe(0x73776972)
    expect(pragma('user_version')).toBe(5)
    expect(pragma('journal_mode')).toBe('wal')
    expect(pragma('page_size')).toBe(1024)
    await runs.close()
  })
})

describe('the driver', () => {
  /** A class of drivers that says which package it is of. */
  const classOf = (name: string, onOpen: () => void = () => {}) => ({
    default: class {
      constructor(path: string) {
        onOpen()
        Object.assign(this, { name, path })
      }
      close() {}
    },
  })
  const builtIn = (module: unknown) =>
    Object.defineProperty(process, 'getBuiltinModule', { value: module, configurable: true, writable: true })
  const before = process.getBuiltinModule
  afterEach(() => {
    builtIn(before)
    vi.doUnmock('better-sqlite3')
    vi.doUnmock('libsql')
  })
  const absent =
    (name: string, code = 'ERR_MODULE_NOT_FOUND') =>
    () => {
      throw Object.assign(new Error(`Cannot find package '${name}' imported from here`), { code })
    }
  const found = async () => (await findDriver())('runs.db')

  test('is that of Node where it has one, without its warning', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    builtIn((name: string) => {
      process.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning')
      process.emitWarning('SQLite is an experimental feature', 'Warning')
      process.emitWarning('Something else is experimental', 'ExperimentalWarning')
      return { DatabaseSync: classOf(name).default }
    })
    expect(await found()).toMatchObject({ name: 'node:sqlite', path: 'runs.db' })
    expect(warn.mock.calls).toEqual([
      ['SQLite is an experimental feature', 'Warning'],
      ['Something else is experimental', 'ExperimentalWarning'],
    ])
    // Its own function is back.
    expect(process.emitWarning).toBe(warn)
  })

  test.each([
    ['Node has no modules to ask for', undefined],
    ['Node does not know the module', () => undefined],
    ['the module is empty', () => ({})],
  ])('is better-sqlite3 where %s', async (_, module) => {
    builtIn(module)
    vi.doMock('better-sqlite3', () => classOf('better-sqlite3'))
    vi.doMock('libsql', () => classOf('libsql'))
    expect(await found()).toMatchObject({ name: 'better-sqlite3', path: 'runs.db' })
  })

  test('is libsql where better-sqlite3 does not work', async () => {
    builtIn(undefined)
    vi.doMock('better-sqlite3', () =>
      classOf('better-sqlite3', () => {
        throw new Error('built for another Node')
      }),
    )
    vi.doMock('libsql', () => classOf('libsql'))
    expect(await found()).toMatchObject({ name: 'libsql', path: 'runs.db' })
  })

  test.each([
    ['nothing is installed', absent('better-sqlite3'), absent('libsql', 'MODULE_NOT_FOUND'), []],
    [
      'a package misses another one',
      absent('bindings', 'MODULE_NOT_FOUND'),
      absent('libsql'),
      ["better-sqlite3 could not be loaded: Cannot find package 'bindings' imported from here"],
    ],
    [
      'packages do not load',
      absent('better-sqlite3', 'ERR_DLOPEN_FAILED'),
      () => {
        throw new Error("no 'libsql' here")
      },
      [
        "better-sqlite3 could not be loaded: Cannot find package 'better-sqlite3' imported from here",
        "libsql could not be loaded: no 'libsql' here",
      ],
    ],
  ])('is missed with a reason where %s', async (_, first, second, problems) => {
    builtIn(undefined)
    // As the packages fail in their constructors, the error comes as it is.
    vi.doMock('better-sqlite3', () => classOf('better-sqlite3', first))
    vi.doMock('libsql', () => classOf('libsql', second))
    const error = await findDriver().catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message.split(' to sqlite().')[1]).toBe(problems.map((problem) => ` ${problem}`).join(''))
  })
})
