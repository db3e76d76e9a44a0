export type { AgentMachineConfig, Timeouts } from './agentConfig.ts'
export { type AgentMachine, createAgentMachine, createChart } from './agentMachine.ts'
export { absorb, type CompositeRun, historyOf, initialComposite } from './compositeRun.ts'
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
