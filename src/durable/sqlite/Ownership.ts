import { existsSync } from 'node:fs'
import type { OpenDriver } from './driver.ts'
import { SqliteFile } from './SqliteFile.ts'

/**
 * The right to run the agents of a file. The process that holds an exclusive transaction on a second file has it. The
 * operating system ends the transaction with the process, so there is no lease whose time must be right.
 */
export class Ownership {
  readonly #file: SqliteFile
  #isHeld = false

  constructor(path: string, openDriver: OpenDriver) {
    this.#file = new SqliteFile(ownerFile(path), openDriver)
    this.#file.exec('PRAGMA busy_timeout = 0')
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Tries to get it, and says whether this process has it now. */
  take(): boolean {
    try {
      this.#file.exec('BEGIN EXCLUSIVE')
      this.#isHeld = true
    } catch {
      // Another process has it. If the file cannot be used at all, the file of the runs shows the error.
    }
    return this.#isHeld
  }

  release(): void {
    this.#isHeld = false
    this.#file.close()
  }
}

const ownerFile = (path: string): string => `${path}-owner`

/** Says whether a process runs the agents of a file. Asking does not take ownership. */
export const hasOwner = (path: string, openDriver: OpenDriver): boolean => {
  if (!existsSync(ownerFile(path))) return false
  const file = new SqliteFile(ownerFile(path), openDriver)
  try {
    file.exec('PRAGMA busy_timeout = 0')
    file.get('SELECT 1 FROM sqlite_master')
    return false
  } catch {
    return true
  } finally {
    file.close()
  }
}
