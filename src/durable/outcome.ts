import { outcomeOf, partialResult as resultSoFar } from '../agent/runOutcome.ts'
import type { DurableResult } from './runs.ts'

/** The result of a run that is over, by its output; undefined if it has none. Throws the error of one that failed. */
export const endResult = (output: unknown): DurableResult | undefined => {
  const outcome = outcomeOf(output)
  if (!outcome) return undefined
  if ('error' in outcome) throw outcome.error()
  const { pendingApproval: _, ...result } = outcome.result
  return result
}

/** The partial result of a run that is not over. Decisions go through `runs.send`, so no snapshot goes with it. */
export const partialResult = (snapshot: unknown): DurableResult & { pendingApproval?: never } => {
  const { pendingApproval: _, ...result } = resultSoFar(snapshot)
  return result
}
