/**
 * The statecharts, and the factory to build orchestrators of your own with.
 *
 * @module statewire/machines
 */

export type { Timeouts } from '../src/model/timeouts.ts'
export type { AgentMachineConfig, CompactionOptions, Price, ToolExecution } from './agentConfig.ts'
export { createAgentMachine, createChart } from './agentMachine.ts'
export type { AgentMachine, AgentSnapshot, AgentStateValue } from './agentSnapshot.ts'
export {
  createDecisionLogic,
  type DecidedEvent,
  type Decision,
  type DecisionEvents,
  type DecisionInput,
} from './decision.ts'
export {
  type ChosenEvent,
  createDecisionChart,
  type DecisionParts,
  type DecisionQuestion,
} from './decisionMachine.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  Asked,
  ChildEvent,
  PreparedRequest,
  StepMetrics,
} from './events.ts'
export type { AtLimit, LimitReached, RunLimits } from './limits.ts'
export {
  defaultOrchestrator,
  type Orchestrator,
  type OrchestratorParts,
  orchestratorParts,
} from './orchestrator.ts'
export { pendingIn } from './pendingCalls.ts'
export {
  createPhasedChart,
  createPhasedMachine,
  type PhasedMachine,
  type PhasedOptions,
  type PhaseWay,
  type RunPhase,
  type StepPhase,
  type Taken,
} from './phasedMachine.ts'
export { historyOf, type PhasedRun } from './phasedRun.ts'
export type { PreparedStep, PrepareStep, StepInfo } from './prepareStep.ts'
export {
  type ReasoningOptions,
  type ReasoningPhase,
  reasoningOrchestrator,
  reasoningPhases,
} from './reasoning.ts'
export {
  type ReflectionOptions,
  type ReflectionPhase,
  reflectionOrchestrator,
  reflectionPhases,
} from './reflection.ts'
export type { RunEmitted, RunStands } from './reportToParent.ts'
export type { RunMachine, RunParts } from './runMachine.ts'
export type { Answer, Remembered, RunOptions, StreamingState, ToolRound, Totals } from './streamingState.ts'
export type {
  ToolServiceInput,
  ToolServiceOutput,
  ToolServiceSnapshot,
} from './toolProgress.ts'
export {
  strategyFor,
  type TypedOutputStrategy,
  typedOutputOrchestrator,
  typedOutputPhases,
} from './typedOutput.ts'
