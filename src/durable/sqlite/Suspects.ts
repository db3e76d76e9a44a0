/** The part of a stored run that says how often it was started without progress. */
type Started = { n: number; recoveries: number }

/**
 * Runs that were started again and again without progress. A process that dies again and again takes all its runs with it,
 * but one of them is why: such runs continue one at a time, so that the others are not abandoned for it.
 */
export class Suspects {
  readonly #maxRecoveries: number
  /** The one that is being tried. */
  #tried: number | undefined

  constructor(maxRecoveries: number) {
    this.#maxRecoveries = maxRecoveries
  }

  /** Orders the runs that must continue: suspects come last, those with the fewest starts first. */
  ordered<Row extends Started>(rows: readonly Row[]): readonly Row[] {
    const suspects = rows.filter((row) => this.#isSuspect(row))
    if (suspects.length === 0) return rows
    const others = rows.filter((row) => !this.#isSuspect(row))
    return [...others, ...suspects.sort((a, b) => a.recoveries - b.recoveries || a.n - b.n)]
  }

  /** Says whether a run may continue now. A suspect that may is the one that is tried from here on. */
  mayTry(row: Started): boolean {
    if (!this.#isSuspect(row)) return true
    if (this.#tried !== undefined) return false
    this.#tried = row.n
    return true
  }

  isTried(n: number | undefined): boolean {
    return n !== undefined && n === this.#tried
  }

  /** Ends the trial of a run: it has made progress, has stopped, or could not be restored. */
  release(n: number | undefined): void {
    if (this.isTried(n)) this.#tried = undefined
  }

  #isSuspect({ recoveries }: Started): boolean {
    return recoveries > 0 && recoveries >= this.#maxRecoveries / 2
  }
}
