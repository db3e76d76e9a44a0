/** Any synchronous SQLite driver will do; without one, the error names the choices. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'tsup'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findDriver, type OpenDriver, type SqliteDriver } from '../../src/durable/sqlite/driver.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { readAll } from './reading.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

type DriverClass = new (path: string) => SqliteDriver

const packaged = (name: string): OpenDriver | undefined => {
  try {
    const Driver: DriverClass = createRequire(import.meta.url)(name)
    new Driver(':memory:').close()
    return (path) => new Driver(path)
  } catch {
    return undefined
  }
}

const candidates: [string, OpenDriver | undefined][] = [
  ['the default', await findDriver()],
  ['libsql', packaged('libsql')],
  ['better-sqlite3', packaged('better-sqlite3')],
]
const installed = candidates.flatMap(([name, driver]) => (driver ? [[name, driver] as const] : []))

describe.each(installed)('%s', (_, driver) => {
  test('keeps runs, streams and decisions', async () => {
    const path = storeFile()
    const { agent } = wiping([[{ text: 'May I? 🙂' }, callOf('c', 'b')], 'Done.'])
    const runs = await opened(path, { agent }, { driver })
    const other = await opened(path, { agent }, { driver })
    const run = await runs.start('agent', 'Wipe b', { id: 'job' })
    const first = await readAll(run)
    await other.send('job', { type: 'tool.approve', callId: 'c' })
    const result = await run.result
    expect(result.output).toBe('May I? 🙂\nDone.')
    const rest = await readAll(run, first.cursors.at(-1))
    expect([...first.texts, ...rest.texts].join('')).toBe(result.output)
    await runs.close()
    await other.close()
    const again = await opened(path, { agent }, { driver })
    expect(await (await again.get('job'))?.result).toEqual(result)
  })

  test('lists, forks, prunes and chats', async () => {
    const { agent } = wiping(['One.', 'Two.', 'Three.'])
    const runs = await opened(storeFile(), { agent }, { driver })
    const chat = await runs.chat('talk')
    const first = await chat.send('1?')
    await first.result
    await (await chat.send('2?')).result
    expect(await chat.history()).toHaveLength(4)
    await (await runs.fork(first.id)).result
    const page = await runs.list({ limit: 2, status: 'complete', agent: 'agent' })
    expect(page.map(({ forkedFrom }) => forkedFrom)).toEqual([first.id, undefined])
    expect(await runs.prune({ olderThan: new Date(Date.now() + 60_000) })).toBe(2)
    expect(await (await chat.fork()).history()).toHaveLength(4)
  })

  test('says in words what is wrong with a file', async () => {
    const path = storeFile()
    await (await opened(path, { agent: wiping([]).agent }, { driver })).close()
    const file = driver(path)
    file.exec('PRAGMA user_version = 99')
    file.close()
    const error = await opened(path, {}, { driver }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ConfigurationError)
    const readOnly: OpenDriver = (at) => {
      const connection = driver(at)
      connection.exec('PRAGMA query_only = ON')
      return connection
    }
    await expect(opened(storeFile(), {}, { driver: readOnly })).rejects.toThrow(/read-only/)
  })
})

test('where there is no driver, the error names the choices', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-driver-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await build({
    entry: ['test/durable/noDriver.ts'],
    outDir: folder,
    format: 'cjs',
    outExtension: () => ({ js: '.cjs' }),
    // Everything is inside: from here no package can be found.
    noExternal: [/.*/],
    splitting: false,
    dts: false,
    silent: true,
    config: false,
  })
  const hasOwn = process.getBuiltinModule?.('node:sqlite' as 'node:fs') !== undefined
  const flags = hasOwn ? ['--no-experimental-sqlite'] : []
  const args = [...flags, join(folder, 'noDriver.cjs'), join(folder, 'runs.db')]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toMatch(
    /^ConfigurationError: There is no SQLite driver\. .* "npm install libsql" or "npm install better-sqlite3@12"/,
  )
}, 180_000)

test('the error of a driver that cannot open the file is reported', async () => {
  const driver = () => {
    throw new Error('no such luck')
  }
  await expect(opened(storeFile(), {}, { driver })).rejects.toThrow(/no such luck/)
})
