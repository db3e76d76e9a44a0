import type { StreamingState } from './streamingState.ts'

/** Whether the whole run has had its time. */
export const isPastDeadline = ({ deadlineAt }: StreamingState, at: number): boolean =>
  deadlineAt !== null && at >= deadlineAt

/** The wait of a state, shortened to what the run has left; undefined for no end. */
export const untilDeadline = (
  { deadlineAt }: StreamingState,
  now: number,
  ms = Number.POSITIVE_INFINITY,
): number | undefined => {
  const wait = Math.max(0, deadlineAt === null ? ms : Math.min(ms, deadlineAt - now))
  return Number.isFinite(wait) ? wait : undefined
}
