import { amount, type Rules } from '../messages/optionRules.ts'

/** The longest waits of a run, or of a request outside of one, in milliseconds. */
export type Timeouts = {
  /** Time from the request to the first content of the answer; keep-alives do not count. Default: 10 minutes. */
  firstChunkMs?: number
  /** Between two pieces of content of a running answer. Default: 5 minutes. */
  idleMs?: number
  /** The whole run, time spent waiting for approvals excepted. Default: none. */
  totalMs?: number
}

export const timeoutRules: Rules<Timeouts> = { firstChunkMs: amount, idleMs: amount, totalMs: amount }

export const defaultTimeouts = { firstChunkMs: 600_000, idleMs: 300_000 } satisfies Timeouts
