import type { AnyStateMachine, MachineContext } from 'xstate'
import type { AgentCommand, AgentEmitted, AgentInput, AgentOutput } from '../agent/events.ts'
import { stateName } from '../agent/states.ts'
import type { Read } from '../logic/chartLogic.ts'
import { deepFreeze } from '../logic/deepFreeze.ts'
import { reportBetween } from '../logic/reports.ts'
import { runMachine } from '../logic/runMachine.ts'
import type { RunEmitted, RunStatusEvent } from '../logic/supervise.ts'
import type { AnyRunMachine } from '../logic/wrapLogic.ts'
import type { StoredCheck } from '../stored/version.ts'

// Charts that are made of runs: how a state runs the lifecycle chart. Phases and decisions are both built from this.

/** Every event of a chart that is made of runs. */
export type RunsEvent = AgentCommand | RunEmitted | RunStatusEvent

/** Turns what the run of a phase emits into what the whole emits, and may change the data of the whole. */
export type Relay<Context extends MachineContext> = (
  context: Context,
  emitted: readonly AgentEmitted[],
  phase: string,
) => Read & { context: Context }

/** The machine of a chart that is made of runs. What the runs emit takes the fast path, as their own reads do. */
export const machineOfRuns = <Context extends MachineContext>(
  chart: AnyStateMachine,
  relay: Relay<Context>,
  stored: StoredCheck,
): AnyRunMachine =>
  runMachine(chart, {
    fastPath: {
      read: ({ context, value }, event) => {
        if (event.type !== 'run.emitted') return undefined
        try {
          return relay(context as Context, (event as RunEmitted).emitted, stateName(value))
        } catch {
          // A user's relay that throws does so again in the chart, which then ends properly.
          return undefined
        }
      },
      replaces: ['relay'],
    },
    stored,
    hasJsonContext: true,
    report: reportBetween,
  })

/** A state that runs the lifecycle chart: it passes commands on to the run, and relays what the run emits. */
export const runState = <const Src extends string, Context, const Done>({
  name,
  src,
  description,
  input,
  onDone,
}: {
  name: string
  src: Src
  description: string | undefined
  input(args: { context: Context }): AgentInput
  onDone: Done
}) =>
  ({
    ...(description !== undefined && { description }),
    tags: 'streaming',
    invoke: { id: 'run', src, input, onDone, onError: toFailure(name) },
    on: { ...runCommands, 'run.emitted': { actions: { type: 'relay', params: { phase: name } } } },
    initial: 'Working',
    states: runStatus,
  }) as const

/** The output of the run that has just ended, as the parameter of a guard or an action. */
export const outputOf = ({ event }: { event: { output: AgentOutput } }): AgentOutput => event.output

/** The action for an abort, with the reason as its parameter. */
export const noteAbort = deepFreeze({
  type: 'noteAbort',
  params: ({ event }: { event: { reason?: string } }) => event,
})

/** The transition of a state whose child broke instead of ending. */
export const toFailure = (state: string) =>
  ({
    target: 'Failed',
    actions: {
      type: 'noteBroken',
      params: ({ event }: { event: { error: unknown } }) => ({ error: event.error, state }),
    },
  }) as const

/** Commands to the whole are meant for the run that is under way. */
const runCommands = deepFreeze({
  // The parent notes it as well: the run may already have ended without the parent knowing.
  abort: { actions: [noteAbort, 'forward'] },
  'tool.approve': { actions: 'forward' },
  'tool.reject': { actions: 'forward' },
  'tool.answer': { actions: 'forward' },
  steer: { actions: 'forward' },
  compact: { actions: 'forward' },
  wake: { actions: 'forward' },
  message: { actions: 'forward' },
  'task.command': { actions: 'forward' },
})

/** The states of a whole that waits for people while its run does. */
const runStatus = deepFreeze({
  Working: { on: { 'run.waiting': 'Waiting' } },
  Waiting: { tags: 'waiting', on: { 'run.working': 'Working' } },
})
