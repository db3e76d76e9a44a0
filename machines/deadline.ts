import type { StreamingState } from './streamingState.ts'

/** Whether the whole run has had its time. */
export const isPastDeadline = ({ deadlineAt }: StreamingState, at: number): boolean =>
  deadlineAt !== null && at >= deadlineAt
