import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'

/** A driver that keeps a copy of the file after each commit: what a process finds that was killed right then. */
export const copying = async (path: string, onCommit: (copy: string) => void): Promise<OpenDriver> => {
  const open = await findDriver()
  let commits = 0
  return (at) => {
    const driver = open(at)
    if (at !== path) return driver
    return {
      prepare: (sql) => driver.prepare(sql),
      close: () => driver.close(),
      exec: (sql) => {
        driver.exec(sql)
        if (sql !== 'COMMIT') return
        commits += 1
        const copy = join(dirname(path), `after-${commits}`, 'runs.db')
        mkdirSync(dirname(copy))
        for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
        onCommit(copy)
      },
    }
  }
}
