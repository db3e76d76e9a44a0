import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { PendingApproval } from '../messages/result.ts'

/** Refuses what cannot be resumed: something else than a pending approval, one that was changed, an unknown call. */
export const checkPending = (pending: PendingApproval, decisions: Record<string, unknown>): void => {
  if (!isJsonObject(pending) || !Array.isArray(pending.calls) || !isJsonObject(pending.snapshot)) {
    throw new ConfigurationError('resume takes the pendingApproval of a result, as it was given or stored.')
  }
  if (!isJsonObject(decisions)) {
    throw new ConfigurationError('resume takes decisions by call id, such as { call_1: true }.')
  }
  const ids = pending.calls.map(({ id }) => id)
  const lacking = waitingIn(pending.snapshot).filter((id) => !ids.includes(id))
  if (lacking.length > 0) {
    throw new ConfigurationError(
      `The run also waits for ${lacking.join(', ')}: pass pendingApproval whole, and decide on what you want.`,
    )
  }
  const unknown = Object.keys(decisions).filter((id) => !ids.includes(id))
  if (unknown.length > 0) {
    throw new ConfigurationError(
      `No call ${unknown.join(', ')} waits for approval; pending are: ${ids.join(', ')}.`,
    )
  }
}

/** The ids of the calls that a stored run waits for: its own, or those of the run inside it. */
const waitingIn = (snapshot: unknown): string[] => {
  if (!isJsonObject(snapshot)) return []
  const { context, children } = snapshot
  const round = isJsonObject(context) && isJsonObject(context.round) ? context.round : {}
  const own = Array.isArray(round.pendingApprovals) ? round.pendingApprovals : []
  const inner = Object.values(isJsonObject(children) ? children : {})
  return [
    ...own.map(String),
    ...inner.flatMap((child) => waitingIn(isJsonObject(child) ? child.snapshot : undefined)),
  ]
}
