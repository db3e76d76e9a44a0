import { outcomeOf, partialResult } from '../agent/runOutcome.ts'
import { errorFrom, OrchestrationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { waitReason } from '../messages/result.ts'
import type { DurableResult } from './runs.ts'
import { hostedFrom } from './sqlite/head.ts'
import type { RunRow } from './sqlite/RunRows.ts'
import type { OpenStore } from './sqlite/sqlite.ts'

/** The outcome of a paused or finished run: its result, or what it waits for. Throws its error. */
export const storedOutcome = ({ items }: OpenStore, run: RunRow): DurableResult => {
  const from = hostedFrom(run.head, items.load(run.n, run.base))
  const snapshot: unknown = 'snapshot' in from ? from.snapshot : undefined
  const outcome = isJsonObject(snapshot) ? outcomeOf(snapshot.output) : undefined
  if (outcome && 'error' in outcome) throw outcome.error()
  if (outcome) {
    const { pendingApproval: _, ...result } = outcome.result
    return result
  }
  const { pendingApproval: _, ...partial } = partialResult(snapshot)
  if (run.error) throw errorFrom(run.error, partial)
  const [first, ...rest] = run.pending
  if (!first) throw new OrchestrationError(`The run "${run.id}" ended without a result.`, { partial })
  return { ...partial, finishReason: waitReason(run.pending), pendingApproval: { calls: [first, ...rest] } }
}
