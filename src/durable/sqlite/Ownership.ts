import { existsSync } from 'node:fs'
import { OrchestrationError } from '../../messages/errors.ts'
import type { OpenDriver } from './driver.ts'
import { jsonIn, numberIn, SqliteFile } from './SqliteFile.ts'

/** Another process has taken over: nothing more of the run may take effect here. */
export class LostOwnership extends OrchestrationError {
  constructor() {
    super('Another process has taken over the runs of this file.')
  }
}

/**
 * The right to run the agents of a file. The process that holds an exclusive transaction on a second file may take it.
 * The operating system ends the transaction with the process, so there is no lease whose time must be right. But locks
 * can be lost without a word, so the file itself says who has the right: each process that takes it raises a number, the
 * epoch, and a process that writes with an older one is refused.
 */
export class Ownership {
  readonly #file: SqliteFile
  readonly #openLock: () => SqliteFile
  #lock: SqliteFile | undefined
  #epoch: number | undefined

  constructor(file: SqliteFile, openDriver: OpenDriver) {
    this.#file = file
    this.#openLock = () => new SqliteFile(ownerFile(file.path), openDriver, ['busy_timeout = 0'])
  }

  get isHeld(): boolean {
    return this.#epoch !== undefined
  }

  /** Tries to get it, and says whether this process has it now. `agents`: the names of those that it can run. */
  take(agents: readonly string[]): boolean {
    if (!this.#isLocked()) return false
    try {
      this.#epoch = this.#file.write('full', () => {
        this.#file.run(
          `INSERT INTO owner (n, epoch, agents) VALUES (1, 1, ?)
           ON CONFLICT (n) DO UPDATE SET epoch = epoch + 1, agents = excluded.agents`,
          JSON.stringify(agents),
        )
        return this.#stored()
      })
      return true
    } catch (thrown) {
      // Another try begins with the lock.
      this.release()
      throw thrown
    }
  }

  /** Throws if another process has taken over. Inside a transaction, this holds until its end. */
  check(): void {
    if (this.#epoch === undefined || this.#stored() !== this.#epoch) throw new LostOwnership()
  }

  /** Lets it go, and may take it again later. */
  release(): void {
    this.#epoch = undefined
    this.#lock?.close()
    this.#lock = undefined
  }

  #isLocked(): boolean {
    try {
      this.#lock ??= this.#openLock()
      this.#lock.exec('BEGIN EXCLUSIVE')
      return true
    } catch {
      // Another process has it. If the file cannot be used at all, the file of the runs shows the error.
      return false
    }
  }

  #stored(): number {
    return numberIn(this.#file.get('SELECT epoch FROM owner') ?? {}, 'epoch')
  }
}

/** The names of the agents that the owner of a file has. */
export const agentsOfOwner = (file: SqliteFile): string[] => {
  const names = jsonIn(file.get('SELECT agents FROM owner') ?? {}, 'agents')
  return Array.isArray(names) ? names.map(String) : []
}

const ownerFile = (path: string): string => `${path}-owner`

/** Says whether a process runs the agents of a file. Asking does not take ownership. */
export const hasOwner = (path: string, openDriver: OpenDriver): boolean => {
  if (!existsSync(ownerFile(path))) return false
  const file = new SqliteFile(ownerFile(path), openDriver, ['busy_timeout = 0'])
  try {
    file.get('SELECT 1 FROM sqlite_master')
    return false
  } catch {
    return true
  } finally {
    file.close()
  }
}
