import { ConfigurationError } from '../../messages/errors.ts'
import type { RunStatus } from '../runs.ts'
import { baseIn } from './Items.ts'
import type { RunOwner } from './RunOwner.ts'
import { numberIn, type SqliteFile } from './SqliteFile.ts'
import { whenFree } from './whenFree.ts'

/** Runs that are deleted in one transaction: others wait for it, and so does this process. */
const batchSize = 200

/**
 * Deletes runs that have not changed and got no command since a moment, and says how many. Messages that other runs
 * share are kept, and so is the last run of a chat, unless the chats are deleted with their last runs. Between two
 * batches, other work of the process goes on.
 */
export const pruneRuns = async (
  owner: RunOwner,
  before: number,
  statuses: readonly RunStatus[],
  withChats: boolean,
): Promise<number> => {
  const { file, synchronous } = owner.store
  let pruned = 0
  for (const status of statuses)
    for (let last = 0, isMore = true; isMore; ) {
      const batch = await whenFree(() => {
        const deleted = file.write(synchronous, () => {
          const found = file.all(
            `SELECT n FROM runs WHERE id IS NOT NULL AND status = ? AND n > ? AND updated < ?
             AND NOT EXISTS (SELECT 1 FROM commands WHERE commands.run = runs.n AND sent >= ?)
             AND (? OR NOT EXISTS (SELECT 1 FROM chats WHERE chats.run = runs.n)) ORDER BY n LIMIT ?`,
            status,
            last,
            before,
            before,
            Number(withChats),
            batchSize,
          )
          const numbers = found.map((row) => numberIn(row, 'n'))
          for (const n of numbers) file.run('DELETE FROM chats WHERE run = ?', n)
          deleteAll(file, numbers)
          return numbers
        })
        for (const n of deleted) owner.drop(n)
        return deleted
      })
      pruned += batch.length
      last = batch.at(-1) ?? last
      isMore = batch.length === batchSize
      await new Promise((resolve) => setImmediate(resolve))
    }
  return pruned
}

/** Deletes one run, under way or not. */
export const deleteRun = (owner: RunOwner, id: string): boolean => {
  const { file, runs, synchronous } = owner.store
  const deleted = file.write(synchronous, () => {
    const run = runs.number(id)
    if (run === undefined) return undefined
    const chat = file.get('SELECT id FROM chats WHERE run = ?', run)
    if (chat)
      throw new ConfigurationError(
        `The run "${id}" is the end of the chat "${String(chat.id)}", and has its messages: it cannot be deleted.`,
      )
    deleteAll(file, [run])
    return run
  })
  // Not before: if the change fails, the run goes on.
  if (deleted !== undefined) owner.drop(deleted)
  return deleted !== undefined
}

/** Deletes runs, inside a transaction. */
const deleteAll = (file: SqliteFile, numbers: readonly number[]): void => {
  for (const n of numbers) {
    for (const table of ['stream', 'commands', 'command_ids', 'tags', 'contexts'])
      file.run(`DELETE FROM ${table} WHERE run = ?`, n)
    file.run(
      `UPDATE runs SET id = NULL, live = 0, head = '', prompt = '', pending = NULL, error = NULL, metadata = NULL WHERE n = ?`,
      n,
    )
  }
  deleteUnused(file, numbers)
  for (const n of numbers) trim(file, n)
}

/** Deletes those of pruned runs that no other run builds on; the ones below them may be next. */
const deleteUnused = (file: SqliteFile, numbers: readonly number[]): void => {
  const candidates = [...numbers]
  for (let n = candidates.pop(); n !== undefined; n = candidates.pop()) {
    const unused = file.get(
      `SELECT base FROM runs
       WHERE n = ? AND id IS NULL AND NOT EXISTS (SELECT 1 FROM runs AS above WHERE above.base = runs.n)`,
      n,
    )
    if (!unused) continue
    file.run('DELETE FROM items WHERE run = ?', n)
    file.run('DELETE FROM runs WHERE n = ?', n)
    if (unused.base !== null) candidates.push(numberIn(unused, 'base'))
  }
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
