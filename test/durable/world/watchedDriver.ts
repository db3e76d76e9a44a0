import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenDriver, SqliteStatement } from '../../../src/durable/sqlite/driver.ts'
import { moment } from './moments.ts'

/** A line of the file in which the fence of a store is watched: a write of a process that had lost its runs. */
type FenceEvent = 'refused' | 'committed'

const fenceFile = (folder: string): string => join(folder, 'fences.log')

/** The writes of processes that had lost their runs: those that were refused, and those that were not, which are faults. */
export type Fences = { refused: number; committed: string[] }

export const fencesIn = (folder: string): Fences => {
  const file = fenceFile(folder)
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return {
    refused: lines.filter((line) => line.startsWith('refused')).length,
    committed: lines.filter((line) => line.startsWith('committed')),
  }
}

/** Statements that only the process that runs the agents may make. Any process may store, send, delete and look. */
const isOwners = /^\s*(UPDATE runs SET (?!id)|INSERT INTO stream)/

/**
 * A driver whose every commit is a moment to die before, and one to die after. It also watches the fence: a process that takes
 * the runs raises a number in the file, and none may write for its runs once the number is another one.
 */
export const watchedDriver = (open: OpenDriver, folder: string): OpenDriver => {
  /** The number that this process has written, whichever connection it did that with. */
  let epoch: unknown
  return (path) => {
    const driver = open(path)
    let change: string | undefined
    const hasLost = () => epoch !== Object(driver.prepare('SELECT epoch FROM owner').get()).epoch
    const note = (event: FenceEvent) =>
      appendFileSync(fenceFile(folder), `${event} ${process.pid} in ${epoch}: ${change}\n`)
    const watched = (sql: string, statement: SqliteStatement): SqliteStatement => ({
      get: (...values) => statement.get(...values),
      all: (...values) => statement.all(...values),
      run: (...values) => {
        if (isOwners.test(sql)) change = sql.trim().slice(0, 60)
        const changes = statement.run(...values)
        if (sql.trim().startsWith('INSERT INTO owner'))
          epoch = Object(driver.prepare('SELECT epoch FROM owner').get()).epoch
        return changes
      },
    })
    return {
      exec(sql) {
        const isWrite = sql.startsWith('COMMIT')
        if (isWrite) moment('write')
        if (isWrite && change !== undefined && hasLost()) note('committed')
        // A write that was refused before its first change was refused for that reason, too.
        if (sql === 'ROLLBACK' && epoch !== undefined && hasLost()) note('refused')
        if (isWrite || sql === 'ROLLBACK') change = undefined
        driver.exec(sql)
        if (isWrite) moment('write')
      },
      prepare: (sql) => watched(sql, driver.prepare(sql)),
      close: () => driver.close(),
    }
  }
}
