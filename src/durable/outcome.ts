import { validatedOutput } from '../agent/partialValues.ts'
import { outcomeOf, partialResult as resultSoFar } from '../agent/runOutcome.ts'
import { OrchestrationError } from '../messages/errors.ts'
import type { Reached } from '../messages/result.ts'
import type { CompiledSchema } from '../tools/schema.ts'
import type { DurableResult } from './runs.ts'

/** The result of a run that is over, by its output; undefined if it has none. Throws the error of a failed run. */
export const endResult = (output: unknown): DurableResult | undefined => {
  const outcome = outcomeOf(output)
  if (!outcome) return undefined
  if ('error' in outcome) throw outcome.error()
  const { pendingApproval: _, status: __, ...result } = outcome.result
  return { ...result, status: 'complete' }
}

/** The partial result of a run that is not over. Decisions go through `runs.send`, so it has no snapshot. */
export const partialResult = (snapshot: unknown): Omit<Reached, 'pendingApproval'> => {
  const { pendingApproval: _, ...result } = resultSoFar(snapshot)
  return result
}

/** The validated result of a run with a schema. Throws while the run waits. */
export const typedResult = async <V>(
  given: DurableResult,
  schema: CompiledSchema<V>,
): Promise<DurableResult<V>> => {
  const { pendingApproval, status: _, ...result } = given
  if (pendingApproval)
    throw new OrchestrationError(
      `The typed answer waits for ${pendingApproval.calls.map(({ name }) => name).join(', ')}: decide on it with runs.send, and read the result again.`,
      { partial: result },
    )
  return { ...result, status: 'complete', output: await validatedOutput(result, schema) }
}
