import type { AgentEmitted, AgentOutput } from './events.ts'

/** The output of the run that has just ended, as the parameter of a guard or an action. */
export const outputOf = ({ event }: { event: { output: AgentOutput } }): AgentOutput => event.output

/** Adds what the run brought: every chart that is made of runs has this action. */
export const takeRun = { type: 'takeRun', params: outputOf } as const

/** The guards that {@link afterRun} goes by. */
export const runGuards = {
  isAborted: ({ context }: { context: object }, { status }: { status: string }) =>
    status === 'aborted' || ('finishReason' in context && context.finishReason === 'aborted'),
  isFailed: (_: unknown, { status }: { status: string }) => status === 'failed',
}

/** Where the end of a run leads: an abort and a failure are the same everywhere, what follows a good end is not. */
export const afterRun = <const Next extends readonly object[]>(...next: Next) =>
  [
    { guard: { type: 'isAborted', params: outputOf }, target: 'Aborted', actions: takeRun },
    { guard: { type: 'isFailed', params: outputOf }, target: 'Failed', actions: takeRun },
    ...next,
  ] as const

/** Where a run leads that broke instead of ending. */
export const brokenIn = (state: string) =>
  ({
    target: 'Failed',
    actions: {
      type: 'noteBroken',
      params: ({ event }: { event: { error: unknown } }) => ({ error: event.error, state }),
    },
  }) as const

/** Whatever anyone may send to the whole is meant for the run that is under way. */
export const commands = {
  abort: { actions: 'forward' },
  'tool.approve': { actions: 'forward' },
  'tool.reject': { actions: 'forward' },
  steer: { actions: 'forward' },
} as const

/** The same; an abort that comes when the run has ended, but its end was not heard of yet, counts as well. */
export const phaseCommands = {
  ...commands,
  abort: {
    actions: [{ type: 'noteAbort', params: ({ event }: { event: { reason?: string } }) => event }, 'forward'],
  },
} as const

/**
 * Whether a run's emission says that the run is over, which is not the end of the whole. Only the last chunk brings
 * nothing; its finish reason does not tell, because some providers end without a word that is known.
 */
export const isRunEnd = (emitted: AgentEmitted): boolean =>
  emitted.type === 'chunk' &&
  emitted.output === '' &&
  emitted.messages.length === 0 &&
  Object.keys(emitted.metadata).length === 0
