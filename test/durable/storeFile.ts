import { copyFileSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type OpenOptions,
  openRuns,
  type SqliteOptions,
  type StoredRuns,
  sqlite,
} from '../../src/durable/index.ts'

/** The path of a store for one test. */
export const storeFile = (): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'statewire-runs-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'runs.db')
}

/** A copy of a store, as a process finds it if the one that has it open is killed at this moment. */
export const afterKill = (path: string): string => {
  const copy = join(mkdtempSync(join(dirname(path), 'killed-')), 'runs.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
  return copy
}

/** Opens a store, and closes it when the test is over. */
export const opened = async (
  path: string,
  agents: NonNullable<OpenOptions['agents']>,
  { driver, synchronous, ...options }: Omit<OpenOptions, 'store' | 'agents'> & SqliteOptions = {},
): Promise<StoredRuns> => {
  const store = sqlite(path, { ...(driver && { driver }), ...(synchronous && { synchronous }) })
  const runs = await openRuns({ store, agents, ...options })
  onTestFinished(() => runs.close({ drain: 0 }))
  return runs
}
