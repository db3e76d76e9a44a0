import { ConfigurationError, describeThrown } from '../../messages/errors.ts'

/** A value that a statement is bound to. */
export type SqlValue = string | number | null

/** A prepared statement of a {@link SqliteDriver}; rows are objects by column. */
export type SqliteStatement = {
  run(...values: SqlValue[]): { changes: number | bigint }
  get(...values: SqlValue[]): unknown
  all(...values: SqlValue[]): unknown[]
}

/** An open SQLite database whose calls are synchronous: `node:sqlite`, `better-sqlite3` and `libsql` are of this shape. */
export type SqliteDriver = {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** Opens a file with a driver. */
export type OpenDriver = (path: string) => SqliteDriver

type DriverClass = new (path: string) => SqliteDriver

const packages = ['better-sqlite3', 'libsql']

/** Finds the driver that this Node has, or else the first package that is installed. */
export const findDriver = async (): Promise<OpenDriver> => {
  const BuiltIn = builtInDriver()
  if (BuiltIn) return (path) => new BuiltIn(path)
  const problems: string[] = []
  for (const name of packages) {
    try {
      const { default: Driver }: { default: DriverClass } = await import(name)
      // One that was built for another Node fails here, and not when it is loaded.
      new Driver(':memory:').close()
      return (path) => new Driver(path)
    } catch (thrown) {
      // A package that is installed and does not load must be distinguished from a missing one.
      if (!isAbsent(thrown, name)) problems.push(` ${name} could not be loaded: ${describeThrown(thrown)}`)
    }
  }
  throw new ConfigurationError(
    `There is no SQLite driver. Node has one since 22.13; for ${process.version} run "npm install libsql" or "npm install better-sqlite3@12", or pass your own driver to sqlite().${problems.join('')}`,
  )
}

const isAbsent = (thrown: unknown, name: string): boolean =>
  thrown instanceof Error &&
  'code' in thrown &&
  (thrown.code === 'ERR_MODULE_NOT_FOUND' || thrown.code === 'MODULE_NOT_FOUND') &&
  thrown.message.includes(`'${name}'`)

/** The types of Node 20 do not know the module yet. */
type WithBuiltIns = { getBuiltinModule?(name: string): { DatabaseSync?: DriverClass } | undefined }

/**
 * The driver of Node itself. Node warns that it is experimental when it is loaded. Users of this package did not choose it, and it is
 * tested on every Node that has it, so this one warning is left out.
 */
const builtInDriver = (): DriverClass | undefined => {
  const { getBuiltinModule }: WithBuiltIns = process
  if (!getBuiltinModule) return undefined
  const { emitWarning } = process
  const isExpected = (warning: unknown, type: unknown) =>
    type === 'ExperimentalWarning' && String(warning).startsWith('SQLite')
  process.emitWarning = (...args: unknown[]) => {
    if (!isExpected(args[0], args[1])) Reflect.apply(emitWarning, process, args)
  }
  try {
    return getBuiltinModule('node:sqlite')?.DatabaseSync
  } finally {
    process.emitWarning = emitWarning
  }
}
