import type { OpenDriver } from '../../../src/durable/sqlite/driver.ts'
import { moment } from './moments.ts'

/** A driver whose every commit is a moment to die before, and one to die after. */
export const watchedDriver =
  (open: OpenDriver): OpenDriver =>
  (path) => {
    const driver = open(path)
    return {
      exec(sql) {
        const isWrite = sql.startsWith('COMMIT')
        if (isWrite) moment('write')
        driver.exec(sql)
        if (isWrite) moment('write')
      },
      prepare: (sql) => driver.prepare(sql),
      close: () => driver.close(),
    }
  }
