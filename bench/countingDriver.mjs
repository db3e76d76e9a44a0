import { readFileSync } from 'node:fs'

/** Node's own SQLite where it has one, else libsql. */
const driverClass = async () =>
  process.getBuiltinModule?.('node:sqlite')?.DatabaseSync ?? (await import('libsql')).default

export const Driver = await driverClass()

/** A driver that counts what is written through it: transactions, what they are given, their time, and the disk's part. */
export const countingDriver = () => {
  let [given, commits, ms, begin] = [0, 0, 0, 0]
  const exec = (driver, sql) => {
    if (sql.startsWith('BEGIN')) begin = performance.now()
    driver.exec(sql)
    if (!sql.startsWith('COMMIT')) return
    commits += 1
    ms += performance.now() - begin
  }
  const counted = (statement) => ({
    run: (...values) => {
      for (const value of values) given += typeof value === 'string' ? Buffer.byteLength(value) : 8
      return statement.run(...values)
    },
    get: (...values) => statement.get(...values),
    all: (...values) => statement.all(...values),
  })
  return {
    open: (path) => {
      const driver = new Driver(path)
      return {
        exec: (sql) => exec(driver, sql),
        prepare: (sql) => counted(driver.prepare(sql)),
        close: () => driver.close(),
      }
    },
    now: () => ({ given, commits, ms, written: bytesWritten() }),
  }
}

/** The bytes that this process has written so far, as Linux counts them. */
const bytesWritten = () => Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
