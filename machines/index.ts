export type { AgentMachineConfig, Timeouts } from './agentConfig.ts'
export { type AgentMachine, createAgentMachine, createChart } from './agentMachine.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  ChildEvent,
  StepMetrics,
} from './events.ts'
export type { StreamingState } from './streamingState.ts'
export {
  createToolBatchMachine,
  type ToolBatchInput,
  type ToolBatchOutput,
  type ToolExecution,
} from './toolBatchMachine.ts'
