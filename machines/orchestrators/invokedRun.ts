import type { AgentOutput } from '../agent/events.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'

/** The output of the run that has just ended, as the parameter of a guard or an action. */
export const outputOf = ({ event }: { event: { output: AgentOutput } }): AgentOutput => event.output

/** That an abort was asked for, as the parameter of an action. */
export const noteAbort = deepFreeze({
  type: 'noteAbort',
  params: ({ event }: { event: { reason?: string } }) => event,
})

/** Commands to the whole are meant for the run that is under way. */
export const runCommands = deepFreeze({
  // The parent notes it as well: the run may already have ended without the parent knowing.
  abort: { actions: [noteAbort, 'forward'] },
  'tool.approve': { actions: 'forward' },
  'tool.reject': { actions: 'forward' },
  'tool.answer': { actions: 'forward' },
  steer: { actions: 'forward' },
  compact: { actions: 'forward' },
})

/** A chart waits for people while one of its runs does. */
export const runStates = deepFreeze({
  initial: 'Working',
  states: {
    Working: { on: { 'run.waiting': 'Waiting' } },
    Waiting: { tags: 'waiting', on: { 'run.working': 'Working' } },
  },
})

/** Where a child leads that broke instead of ending. */
export const toFailure = (state: string) =>
  ({
    target: 'Failed',
    actions: {
      type: 'noteBroken',
      params: ({ event }: { event: { error: unknown } }) => ({ error: event.error, state }),
    },
  }) as const
