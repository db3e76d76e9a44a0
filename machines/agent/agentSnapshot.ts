import type { AnyActorRef, MachineSnapshot, MetaObject, StateSchema } from 'xstate'
import type { RunMachine } from '../logic/wrapLogic.ts'
import type { AgentParts } from './agentParts.ts'
import type { AgentCommand, AgentInput, AgentOutput } from './events.ts'
import type { StreamingState } from './streamingState.ts'

/** The machine of a run: what `Agent.machine` is and `createAgentMachine` makes. `Deps` is the `context` of its tools. */
export interface AgentMachine<Deps = unknown>
  extends RunMachine<AgentSnapshot, AgentCommand, AgentInput<Deps>, AgentParts> {}

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

/**
 * The states of a run. They are written out because the type of the chart itself cannot be part of a declaration file;
 * `test/types` fails to compile when they differ from the chart's.
 */
export type AgentStateValue =
  | 'Initialized'
  | {
      Judging:
        | 'Decided'
        | 'Accepted'
        | { Prompt: 'Asking' | 'Holding' }
        | { Calls: 'Asking' | 'Holding' }
        | { Results: 'Asking' | 'Holding' }
        | { Tasks: 'Asking' | 'Holding' }
        | { Answer: 'Asking' | 'Holding' }
    }
  | 'MessageReset'
  | { Accumulating: 'Requesting' | 'Streaming' | 'Interrupted' | 'BackingOff' }
  | 'AtLimit'
  | { Compacting: 'Clearing' | 'Summarising' | 'Halving' }
  | 'Consolidating'
  | 'ToolCheck'
  | 'AwaitingApproval'
  | { ToolExecution: 'Working' | 'Waiting' }
  | 'AwaitingTools'
  | 'AwaitingTasks'
  | 'ToolResults'
  | 'Complete'
  | 'Failed'
  | 'Aborted'
