import type { AnyActorRef, MachineSnapshot, MetaObject, StateSchema } from 'xstate'
import type { RunMachine } from '../logic/runMachine.ts'
import type { AgentCommand, AgentOutput } from './events.ts'
import type { StreamingState } from './streamingState.ts'

/** The machine of a run: what `Agent.machine` is and `createAgentMachine` makes. */
export interface AgentMachine extends RunMachine<AgentSnapshot> {}

/** Where a run is, with its data. */
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

/** The states of a run. */
export type AgentStateValue =
  | 'Initialized'
  | 'MessageReset'
  | { Accumulating: 'Requesting' | 'Streaming' | 'Interrupted' | 'BackingOff' }
  | 'AtLimit'
  | { Compacting: 'Clearing' | 'Summarising' | 'Halving' }
  | 'Consolidating'
  | 'ToolCheck'
  | 'AwaitingApproval'
  | { ToolExecution: 'Working' | 'Waiting' }
  | 'AwaitingTools'
  | 'ToolResults'
  | 'Complete'
  | 'Failed'
  | 'Aborted'
