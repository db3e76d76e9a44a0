import {
  ConfigurationError,
  describeThrown,
  OrchestrationError,
  StatewireError,
} from '../../messages/errors.ts'

/** Another connection holds the file: another try may succeed. */
export class LockedFile extends OrchestrationError {}

/** The failures of SQLite that a user can mend, by the number and the name of their codes. */
const failures: readonly (readonly [code: number, name: string, say: (path: string) => StatewireError])[] = [
  [
    13,
    'SQLITE_FULL',
    (path) =>
      new OrchestrationError(
        `The disk is full: "${path}" could not be written. What was acknowledged is stored; make room and open the runs again.`,
      ),
  ],
  [
    8,
    'SQLITE_READONLY',
    (path) =>
      new ConfigurationError(`"${path}" cannot be written: the file, its folder or its disk is read-only.`),
  ],
  [
    5,
    'SQLITE_BUSY',
    (path) =>
      new LockedFile(
        `"${path}" is locked: another program holds it. What was acknowledged is stored; end that program and open the runs again.`,
      ),
  ],
  [
    11,
    'SQLITE_CORRUPT',
    (path) =>
      new OrchestrationError(
        `"${path}" is damaged. Take a backup of it, and mend it with "sqlite3 ${path} .recover".`,
      ),
  ],
  [
    26,
    'SQLITE_NOTADB',
    (path) => new ConfigurationError(`"${path}" is not an SQLite database: give another path.`),
  ],
  [
    14,
    'SQLITE_CANTOPEN',
    (path) =>
      new ConfigurationError(`"${path}" cannot be opened: its folder must exist, and you must own it.`),
  ],
  [
    10,
    'SQLITE_IOERR',
    (path) =>
      new OrchestrationError(
        `The disk failed while "${path}" was used. What was acknowledged is stored; check the disk and open the runs again.`,
      ),
  ],
]

/** Says in words what a driver threw. Each driver has its own way to give SQLite's code. */
export const storeError = (path: string, thrown: unknown): StatewireError => {
  if (thrown instanceof StatewireError) return thrown
  const { code, errcode, rawCode }: { code?: unknown; errcode?: unknown; rawCode?: unknown } = Object(thrown)
  const number = [errcode, rawCode].find((each) => typeof each === 'number')
  const known = failures.find(([primary, name]) =>
    // The higher bits say which kind of the failure it is.
    typeof number === 'number' ? (number & 0xff) === primary : String(code).startsWith(name),
  )
  const error =
    known?.[2](path) ?? new OrchestrationError(`The store "${path}" failed: ${describeThrown(thrown)}`)
  error.cause = thrown
  return error
}

/** Data of a store that is not as it was written: another try finds it in the same state. */
export class DamagedData extends OrchestrationError {}

export const damaged = (what: string): DamagedData =>
  new DamagedData(`The stored data is damaged: ${what}. Restore it from a backup.`)
