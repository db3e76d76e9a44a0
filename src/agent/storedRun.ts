import type { Snapshot } from 'xstate'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { PendingApproval } from '../messages/result.ts'

/** The snapshot of a run that waits. The snapshot itself says what it waits for: the list beside it is for reading. */
export const snapshotOf = (pending: PendingApproval): Snapshot<unknown> => {
  if (isJsonObject(pending) && isJsonObject(pending.snapshot)) return pending.snapshot
  throw new ConfigurationError('resume takes the pendingApproval of a result, as you got it or stored it.')
}

/** What is known of a stored run before its machine has read it. */
export const storedRun = (snapshot: unknown): { id: string | undefined; isTyped: boolean } => {
  const context = isJsonObject(snapshot) ? snapshot.context : undefined
  if (!isJsonObject(context)) return { id: undefined, isTyped: false }
  // A chart of phases keeps its input, a single run its options.
  const { options, input } = context
  const asked = isJsonObject(options) ? options : isJsonObject(input) ? input : {}
  const id = typeof asked.id === 'string' && asked.id !== '' ? asked.id : undefined
  return { id, isTyped: isJsonObject(asked.outputSchema) }
}
