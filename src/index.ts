/**
 * Agents, chats, tools, results and errors: what most programs need.
 *
 * @module statewire
 */

export type { AgentMachineConfig, Timeouts } from '../machines/agentConfig.ts'
export { type AgentMachine, createAgentMachine } from '../machines/agentMachine.ts'
export type { DecidedEvent, Decision, DecisionEvents, DecisionInput } from '../machines/decision.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  StepMetrics,
} from '../machines/events.ts'
export { defaultOrchestrator, type Orchestrator, type OrchestratorParts } from '../machines/orchestrator.ts'
export { type ReasoningOptions, reasoningOrchestrator } from '../machines/reasoning.ts'
export type { ReasoningPhase } from '../machines/reasoningMachine.ts'
export { type ReflectionOptions, reflectionOrchestrator } from '../machines/reflection.ts'
export type { ReflectionPhase } from '../machines/reflectionMachine.ts'
export type { RunEmitted } from '../machines/reportToParent.ts'
export type { StreamingState } from '../machines/streamingState.ts'
export type { ToolExecution } from '../machines/toolBatchMachine.ts'
export type {
  Capability,
  ConnectionOptions,
  EmbedOptions,
  ModelInfo,
  Provider,
  ProviderInfo,
} from '../providers/provider.ts'
export { listModels, listProviders, type ProviderFactory, registerProvider } from '../providers/registry.ts'
export {
  Agent,
  type AgentOptions,
  type EmbeddingsResult,
  type FallbackModel,
  type SendOptions,
} from './Agent.ts'
export type { AgentRun, Approval, OnApproval, RunHandlers } from './AgentRun.ts'
export type { Accumulated, Accumulator } from './accumulator.ts'
export { messageAccumulator } from './accumulator.ts'
export type { AgentToolOptions } from './agentTool.ts'
export { Chat, type ChatOptions, type ChatSendOptions } from './Chat.ts'
export type {
  ChatModel,
  GenerationSettings,
  ModelProfile,
  ModelRequest,
  ModelSink,
  Thinking,
  ToolChoice,
  ToolSpec,
} from './chatModel.ts'
export type { Clock } from './clock.ts'
export { cosineSimilarity } from './cosineSimilarity.ts'
export { createDecision, type DecisionOptions } from './createDecision.ts'
export type { Delta, WireToolCall } from './delta.ts'
export {
  AbortedError,
  ConfigurationError,
  type ErrorData,
  type ErrorName,
  ModelError,
  OrchestrationError,
  OutputValidationError,
  StatewireError,
  TimeoutError,
  ToolExecutionError,
} from './errors.ts'
export type { Inspect } from './harmlessInspect.ts'
export type { JsonObject, JsonValue } from './json.ts'
export {
  type ChatMessage,
  type DataPart,
  dataPart,
  type LinkPart,
  linkPart,
  modelMessage,
  type Part,
  systemMessage,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
  textPart,
  toolCallsOf,
  toolResultsOf,
  userMessage,
} from './messages.ts'
export { formatModelString, type ModelName, parseModelString } from './modelString.ts'
export type { DeepPartial } from './partialValues.ts'
export { addUsage, type ChatResult, type FinishReason, type PendingApproval, type Usage } from './result.ts'
export { defaultRetryPolicy, type RetryPolicy } from './retryPolicy.ts'
export type { Infer, Schema, StandardSchema } from './schema.ts'
export { type Tool, type ToolContext, type ToolOptions, tool } from './tool.ts'
export { createToolExecutor, type ExecutionOptions, type ToolExecutor } from './toolExecutor.ts'
export { type HistoryProblem, isFatal, validateHistory } from './validateHistory.ts'
