import type { Keeper } from './Keeper.ts'
import type { RunStatus } from './runs.ts'
import { baseIn } from './sqlite/RunRows.ts'
import { numberIn, type SqliteFile } from './sqlite/SqliteFile.ts'

const over: readonly RunStatus[] = ['complete', 'failed', 'aborted', 'abandoned']

/**
 * Deletes runs that have not changed since a moment. Messages that other runs share are kept, and so is the last run of
 * a chat.
 */
export const pruneRuns = (keeper: Keeper, before: number, status: RunStatus | undefined): number => {
  const { file, synchronous } = keeper.store
  return file.write(synchronous, () => {
    const found = (status ? [status] : over).flatMap((each) =>
      file.all(
        `SELECT n FROM runs WHERE id IS NOT NULL AND status = ? AND updated < ?
         AND NOT EXISTS (SELECT 1 FROM chats WHERE chats.run = runs.n)`,
        each,
        before,
      ),
    )
    for (const row of found) {
      const n = numberIn(row, 'n')
      keeper.drop(n)
      for (const table of ['stream', 'commands', 'contexts'])
        file.run(`DELETE FROM ${table} WHERE run = ?`, n)
      file.run(`UPDATE runs SET id = NULL, live = 0, head = '', pending = NULL, error = NULL WHERE n = ?`, n)
    }
    while (deleteUnused(file) > 0);
    for (const row of found) trim(file, numberIn(row, 'n'))
    return found.length
  })
}

/** Pruned runs that no other run builds on; those below them may be next. */
const deleteUnused = (file: SqliteFile): number => {
  const unused = file.all(
    'SELECT n FROM runs WHERE id IS NULL AND NOT EXISTS (SELECT 1 FROM runs AS above WHERE above.base = runs.n)',
  )
  for (const row of unused) {
    file.run('DELETE FROM items WHERE run = ?', numberIn(row, 'n'))
    file.run('DELETE FROM runs WHERE n = ?', numberIn(row, 'n'))
  }
  return unused.length
}

/** Deletes the items of a pruned run that no run above it refers to. */
const trim = (file: SqliteFile, n: number): void => {
  const needed = new Map<number, number>()
  for (const row of file.all('SELECT base, counts FROM runs WHERE base = ?', n))
    for (const [thread, count] of Object.entries(baseIn(row).counts))
      needed.set(Number(thread), Math.max(count, needed.get(Number(thread)) ?? 0))
  for (const row of file.all('SELECT DISTINCT thread FROM items WHERE run = ?', n)) {
    const thread = numberIn(row, 'thread')
    file.run(
      'DELETE FROM items WHERE run = ? AND thread = ? AND idx >= ?',
      n,
      thread,
      needed.get(thread) ?? 0,
    )
  }
}
