/**
 * The statecharts, and the factory to build your own orchestrators with.
 *
 * @module statewire/machines
 */

export type { Timeouts } from '../src/model/timeouts.ts'
export type { AgentMachineConfig, CompactionOptions, Price, ToolExecution } from './agent/agentConfig.ts'
export { createAgentMachine } from './agent/agentMachine.ts'
export type { AgentActions, AgentChildren, AgentGuards, AgentParts } from './agent/agentParts.ts'
export type { AgentMachine, AgentSnapshot, AgentStateValue } from './agent/agentSnapshot.ts'
export { createChart } from './agent/chart.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  AgentReport,
  Asked,
  CallCommand,
  ChildEvent,
  MessageTiming,
  PreparedRequest,
  StepMetrics,
  TaskCommand,
} from './agent/events.ts'
export type { AtLimit, LimitReached, RunLimits } from './agent/limits.ts'
export type {
  Answer,
  Remembered,
  RunOptions,
  StreamingState,
  Task,
  ToolRound,
  Totals,
} from './agent/streamingState.ts'
export type { SummariserInput } from './compaction/summariser.ts'
export type { RunEmitted, RunStatusEvent } from './logic/supervise.ts'
export type { RunMachine, RunParts } from './logic/wrapLogic.ts'
export type { ModelInput, TimerInput } from './model/modelActor.ts'
export type { PreparedStep, PrepareStep, StepInfo } from './model/prepareStep.ts'
export type { PrefixChange, PrefixPart, RequestPrefix, SentPrefix } from './model/requestPrefix.ts'
export {
  createDecisionLogic,
  type DecidedEvent,
  type Decision,
  type DecisionEvents,
  type DecisionInput,
} from './orchestrators/decision.ts'
export {
  type ChosenEvent,
  createDecisionChart,
  type DecisionParts,
  type DecisionQuestion,
} from './orchestrators/decisionMachine.ts'
export {
  defaultOrchestrator,
  type Orchestrator,
  type OrchestratorParts,
  orchestratorParts,
} from './orchestrators/orchestrator.ts'
export {
  createPhasedChart,
  createPhasedMachine,
  type PhaseChange,
  type PhasedMachine,
  type PhasedOptions,
  type PhaseExit,
  type RunPhase,
  type StepPhase,
} from './orchestrators/phasedMachine.ts'
export { historyOf, type PhasedRun } from './orchestrators/phasedRun.ts'
export {
  type ReasoningOptions,
  type ReasoningPhase,
  reasoningOrchestrator,
  reasoningPhases,
} from './orchestrators/reasoning.ts'
export {
  type ReflectionOptions,
  type ReflectionPhase,
  reflectionOrchestrator,
  reflectionPhases,
} from './orchestrators/reflection.ts'
export {
  strategyFor,
  type TypedOutputStrategy,
  typedOutputOrchestrator,
  typedOutputPhases,
} from './orchestrators/typedOutput.ts'
export type { Verdict, Verdicts } from './policy/openQuestions.ts'
export type {
  PolicyEvents,
  PolicyInput,
  PolicyMeta,
  PolicyOptions,
  PolicyTag,
} from './policy/policyEvents.ts'
export type { Gate } from './policy/questions.ts'
export { pendingIn } from './tools/pendingCalls.ts'
export type { ToolServiceInput, ToolServiceOutput } from './tools/toolService.ts'
