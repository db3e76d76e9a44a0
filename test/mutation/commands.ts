/** What the process that Stryker starts asks of the thread that has the tests loaded, and what it answers. */
export type Command =
  | { type: 'dryRun'; files: string[] }
  | { type: 'mutant'; mutant: string; source: string; hitLimit: number | undefined; tests: string[] }

export type Tried = { id: string; ms: number; outcome: 'passed' | 'failed' | 'skipped'; message: string }

export type Answer =
  | { type: 'ready' }
  | { type: 'dryRun'; tests: Tried[]; mutantCoverage: unknown }
  | {
      type: 'mutant'
      killedBy: string[]
      message: string
      ran: number
      hitCount: number | undefined
      /** The test that noticed it fails without it, too, now. */
      isSpoiled: boolean
    }
