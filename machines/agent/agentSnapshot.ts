import type { AnyActorRef, MachineSnapshot, MetaObject, SnapshotFrom, StateSchema } from 'xstate'
import type { RunMachine } from '../logic/wrapLogic.ts'
import type { chartOf } from './chart.ts'
import type { AgentCommand, AgentOutput } from './events.ts'
import type { StreamingState } from './streamingState.ts'

/** The machine of a run: what `Agent.machine` is and `createAgentMachine` makes. */
export interface AgentMachine extends RunMachine<AgentSnapshot> {}

/** The state of a run, with its data. */
export type AgentSnapshot = MachineSnapshot<
  StreamingState,
  AgentCommand,
  Record<string, AnyActorRef | undefined>,
  AgentStateValue,
  'streaming' | 'waiting',
  AgentOutput,
  MetaObject,
  StateSchema
>

/** The states of a run, as the chart has them. */
export type AgentStateValue = SnapshotFrom<ReturnType<typeof chartOf>>['value']
