/**
 * Agents, chats, tools, results and errors: what most programs need.
 *
 * @module statewire
 */

export type {
  AgentMachineConfig,
  CompactionOptions,
  Price,
  ToolExecution,
} from '../machines/agent/agentConfig.ts'
export { createAgentMachine } from '../machines/agent/agentMachine.ts'
export type { AgentMachine, AgentSnapshot, AgentStateValue } from '../machines/agent/agentSnapshot.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentEvent,
  AgentInput,
  AgentOutput,
  Asked,
  PreparedRequest,
  StepMetrics,
} from '../machines/agent/events.ts'
export type { AtLimit, LimitReached, RunLimits } from '../machines/agent/limits.ts'
export type { StreamingState } from '../machines/agent/streamingState.ts'
export type { RunEmitted } from '../machines/logic/reportToParent.ts'
export type { RunMachine, RunParts } from '../machines/logic/runMachine.ts'
export type { PreparedStep, PrepareStep, StepInfo } from '../machines/model/prepareStep.ts'
export type {
  DecidedEvent,
  Decision,
  DecisionEvents,
  DecisionInput,
} from '../machines/orchestrators/decision.ts'
export {
  defaultOrchestrator,
  type Orchestrator,
  type OrchestratorParts,
} from '../machines/orchestrators/orchestrator.ts'
export {
  type ReasoningOptions,
  type ReasoningPhase,
  reasoningOrchestrator,
} from '../machines/orchestrators/reasoning.ts'
export {
  type ReflectionOptions,
  type ReflectionPhase,
  reflectionOrchestrator,
} from '../machines/orchestrators/reflection.ts'
export type { HeadersLike } from '../providers/http/connection.ts'
export type { ApiKey, AwsCredentials, Key } from '../providers/http/credentials.ts'
export type {
  Capability,
  ConnectionOptions,
  EmbedOptions,
  ModelInfo,
  ProfileOverride,
  Provider,
  ProviderInfo,
  RequestOptions,
} from '../providers/provider.ts'
export { listModels, listProviders, type ProviderFactory, registerProvider } from '../providers/registry.ts'
export {
  Agent,
  type AgentOptions,
  type EmbeddingsResult,
  type StartFrom,
} from './agent/Agent.ts'
export type { AgentToolOptions } from './agent/agentTool.ts'
export { Chat, type ChatOptions, type ChatSendOptions } from './agent/Chat.ts'
export { createDecision, type DecisionOptions } from './agent/createDecision.ts'
export type { FallbackModel } from './agent/otherModels.ts'
export type { DeepPartial } from './agent/partialValues.ts'
export type { Run } from './agent/Run.ts'
export type {
  ActorOptions,
  ActorValues,
  ResumeOptions,
  SendOptions,
  TypedOptions,
} from './agent/sendOptions.ts'
export type { Inspect } from './agent/watching.ts'
export type { Compaction, CompactionReason } from './messages/compaction.ts'
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
} from './messages/errors.ts'
export type { Growing, Runs } from './messages/growing.ts'
export type { JsonObject, JsonValue } from './messages/json.ts'
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
} from './messages/messages.ts'
export {
  addUsage,
  type ChatResult,
  type FinishReason,
  type PendingApproval,
  type PendingCall,
  type SendResult,
  type Usage,
} from './messages/result.ts'
export { type HistoryProblem, isFatal, validateHistory } from './messages/validateHistory.ts'
export type { Accumulated, Accumulator } from './model/accumulator.ts'
export { messageAccumulator } from './model/accumulator.ts'
export type {
  ChatModel,
  Effort,
  GenerationSettings,
  ModelProfile,
  ModelRequest,
  ModelSink,
  PromptCache,
  SentRequest,
  Thinking,
  ToolChoice,
  ToolSpec,
  WireListener,
} from './model/chatModel.ts'
export type { Clock } from './model/clock.ts'
export { cosineSimilarity } from './model/cosineSimilarity.ts'
export type { Delta, WireToolCall } from './model/delta.ts'
export { formatModelString, type ModelName, parseModelString } from './model/modelString.ts'
export { defaultRetryPolicy, type RetryPolicy } from './model/retryPolicy.ts'
export {
  type CodeExecution,
  codeExecution,
  type FileSearch,
  type FileSearchOptions,
  fileSearch,
  type ImageGeneration,
  imageGeneration,
  type KnownServerTool,
  type SearchLocation,
  type ServerTool,
  type WebFetch,
  type WebFetchOptions,
  type WebSearch,
  type WebSearchOptions,
  webFetch,
  webSearch,
} from './model/serverTools.ts'
export type { Timeouts } from './model/timeouts.ts'
export type { Approval, ApprovalOptions, CallDecision, OnApproval, Remember } from './tools/approval.ts'
export type { Infer, Schema, StandardSchema } from './tools/schema.ts'
export {
  type AnyTool,
  type AnyToolEntry,
  type Tool,
  type ToolContext,
  type ToolOptions,
  type ToolSource,
  tool,
} from './tools/tool.ts'
export { createToolExecutor, type ExecutionOptions, type ToolExecutor } from './tools/toolExecutor.ts'
