import {
  ConfigurationError,
  describeThrown,
  OrchestrationError,
  StatewireError,
} from '../../messages/errors.ts'

/** The store cannot be written for now: a run continues once it can. */
class UnavailableStore extends OrchestrationError {}

/** Another connection holds the file: another try may succeed. */
export class LockedFile extends UnavailableStore {}

/** A file that cannot be written: an operator may change that while the runs wait. */
class ReadOnlyFile extends ConfigurationError {}

/** Says whether a failure of the store may pass by itself, or by what an operator does. */
export const isPassing = (error: unknown): error is Error =>
  error instanceof UnavailableStore || error instanceof ReadOnlyFile

/** The error of a file that is no longer at its path. */
export const otherFile = (path: string): OrchestrationError =>
  new OrchestrationError(
    `"${path}" was deleted or replaced while it was open: nothing more can be stored there. Close these runs, and open the file again.`,
  )

/** The error of a write whose log was deleted meanwhile. */
export const replaced = (path: string): LockedFile =>
  new LockedFile(
    `The log of "${path}" was deleted while it was written: another SQLite library in this process closed the file. Open it with one library only.`,
  )

/** The failures of SQLite that a user can mend, by the number and the name of their codes. */
const failures: readonly (readonly [code: number, name: string, say: (path: string) => StatewireError])[] = [
  [
    13,
    'SQLITE_FULL',
    (path) =>
      new UnavailableStore(
        `The disk is full: "${path}" could not be written. What was acknowledged is stored; make room, and the runs continue.`,
      ),
  ],
  [
    8,
    'SQLITE_READONLY',
    (path) => new ReadOnlyFile(`"${path}" cannot be written: the file, its folder or its disk is read-only.`),
  ],
  [
    5,
    'SQLITE_BUSY',
    (path) =>
      new LockedFile(
        `"${path}" is locked: another program holds it. What was acknowledged is stored; the runs continue when that program lets it go.`,
      ),
  ],
  [
    11,
    'SQLITE_CORRUPT',
    (path) =>
      new OrchestrationError(
        `"${path}" is damaged. Make a copy of it, then repair it with "sqlite3 ${path} .recover".`,
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
      new UnavailableStore(
        `The disk failed while "${path}" was used. What was acknowledged is stored; check the disk. The runs continue when it works.`,
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
