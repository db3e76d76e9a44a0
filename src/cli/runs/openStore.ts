import { statSync } from 'node:fs'
import type { AnyAgent } from '../../agent/options.ts'
import type { StoredRuns } from '../../durable/index.ts'
import { type Invocation, textOption } from '../command.ts'
import { UsageError } from '../outcome.ts'
import { oneLine } from '../terminalText.ts'

/** Opens the runs of a file or a Postgres database without running any. It must exist: opening a missing one would create it. */
export const openStore = async (invocation: Invocation): Promise<StoredRuns> => {
  const db = textOption(invocation, 'db') ?? 'runs.db'
  if (!isAddress(db)) {
    const found = statSync(db, { throwIfNoEntry: false })
    if (!found) throw new UsageError(`There is no file ${db}: name the file of the runs with --db.`)
    if (!found.isFile() || found.size === 0) throw new UsageError(`${db} is not a file of runs.`)
  }
  return openRunsIn(db)
}

/** Opens a file or a database, with agents that this process runs. */
export const openRunsIn = async (
  db: string,
  agents?: Readonly<Record<string, AnyAgent>>,
): Promise<StoredRuns> => {
  const given = agents && { agents }
  // Only who names a database loads DBOS.
  if (isAddress(db)) {
    // DBOS uses its driver in a way that the driver warns of: no reader of a terminal can change that.
    process.noDeprecation = true
    const { dbosRuns } = await import('../../dbos/index.ts')
    return dbosRuns({ databaseUrl: db, ...given })
  }
  const { openRuns, sqlite } = await import('../../durable/index.ts')
  return openRuns({ store: sqlite(db), ...given })
}

const isAddress = (db: string): boolean => /^postgres(ql)?:/i.test(db)

/** The file or database as it may be shown: without a password. */
export const shownStore = (db: string): string => {
  if (!isAddress(db)) return db
  if (!URL.canParse(db)) return 'the database'
  const { protocol, username, host, pathname } = new URL(db)
  return `${protocol}//${username && `${username}@`}${host}${pathname}`
}

/** The option that names the store again, for a command that the user may copy. */
export const storeOption = (invocation: Invocation): string => {
  const db = textOption(invocation, 'db')
  return db === undefined ? '' : ` --db ${shellWord(shownStore(db))}`
}

/** A word quoted for a shell: it may come from a file, and the user may copy it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", "'\\''")}'`
