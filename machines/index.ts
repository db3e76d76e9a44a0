/**
 * The statecharts, and the parts to build orchestrators of your own from.
 *
 * @module statewire/machines
 */

export type { AgentMachineConfig, Timeouts } from './agentConfig.ts'
export { type AgentMachine, createAgentMachine, createChart } from './agentMachine.ts'
export { abortedOutput, completeOutput, failedOutput, finalChunk, type RunResult } from './agentOutput.ts'
export { absorb, brokenRun, type CompositeRun, historyOf, initialComposite } from './compositeRun.ts'
export {
  createDecisionLogic,
  type DecidedEvent,
  type Decision,
  type DecisionEvents,
  type DecisionInput,
} from './decision.ts'
export { type ChosenEvent, createDecisionMachine, type DecisionQuestion } from './decisionMachine.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  ChildEvent,
  StepMetrics,
} from './events.ts'
export {
  defaultOrchestrator,
  type Orchestrator,
  type OrchestratorParts,
  orchestratorParts,
} from './orchestrator.ts'
export { afterRun, brokenIn, commands, isRunEnd, outputOf, runGuards, takeRun } from './phase.ts'
export { type ReasoningOptions, reasoningOrchestrator } from './reasoning.ts'
export { createReasoningMachine, type ReasoningPhase } from './reasoningMachine.ts'
export { type ReflectionOptions, reflectionOrchestrator } from './reflection.ts'
export { createReflectionMachine, type ReflectionPhase } from './reflectionMachine.ts'
export type { RunEmitted } from './reportToParent.ts'
export type { StreamingState } from './streamingState.ts'
export {
  createToolBatchMachine,
  type ToolBatchInput,
  type ToolBatchOutput,
  type ToolExecution,
} from './toolBatchMachine.ts'
export { strategyFor, type TypedOutputStrategy, typedOutputOrchestrator } from './typedOutput.ts'
export { createTypedOutputMachine, type TypedOutputParts } from './typedOutputMachine.ts'
