/**
 * All of `statewire` but the registry of providers: models are values of `statewire/providers/<name>`. In a browser, this is
 * what `statewire` is.
 *
 * @module statewire/core
 */

export { createAgentMachine } from '../../machines/agent/agentMachine.ts'
export type { AgentSnapshot } from '../../machines/agent/agentSnapshot.ts'
export type {
  AgentCommand,
  AgentEmitted,
  AgentInput,
  AgentOutput,
} from '../../machines/agent/events.ts'
export type { RunLimits } from '../../machines/agent/limits.ts'
export type { Orchestrator } from '../../machines/orchestrators/orchestrator.ts'
export { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
export { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
export type { PolicyEvents, PolicyTag } from '../../machines/policy/policyEvents.ts'
export type { ProviderValue } from '../../providers/chatModels.ts'
export type { ApiKey } from '../../providers/http/credentials.ts'
export { registerProvider } from '../../providers/namedProviders.ts'
export type { MediaOptions } from '../../providers/provider.ts'
export { listModels, listProviders, uploadFile } from '../../providers/registry.ts'
export { Agent, type EmbeddingsResult, type MediaResult } from '../agent/Agent.ts'
export type { AgentToolOptions } from '../agent/agentTool.ts'
export { Chat, type ChatOptions, type ChatSendOptions, type StoredChat } from '../agent/Chat.ts'
export { createDecision } from '../agent/createDecision.ts'
export type {
  ActorOptions,
  AgentOptions,
  AnyAgent,
  MachineOf,
  ResumeOptions,
  SendOptions,
  StartFrom,
} from '../agent/options.ts'
export type { DeepPartial } from '../agent/partialValues.ts'
export type { Run } from '../agent/Run.ts'
export type { TypedMachine } from '../agent/typedMachine.ts'
export type { Inspect } from '../agent/watching.ts'
export type { Compaction } from '../messages/compaction.ts'
export {
  AbortedError,
  ConfigurationError,
  ConflictError,
  type ErrorData,
  ModelError,
  OrchestrationError,
  OutputValidationError,
  StatewireError,
  TimeoutError,
  ToolExecutionError,
} from '../messages/errors.ts'
export type { JsonObject, JsonValue } from '../messages/json.ts'
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
} from '../messages/messages.ts'
export {
  addUsage,
  type ChatResult,
  type FinishReason,
  type PendingApproval,
  type PendingCall,
  type SendResult,
  type Usage,
  type Warning,
} from '../messages/result.ts'
export { type HistoryProblem, isFatal, validateHistory } from '../messages/validateHistory.ts'
export type { Accumulator } from '../model/accumulator.ts'
export { messageAccumulator } from '../model/accumulator.ts'
export type {
  ChatModel,
  GenerationSettings,
  ModelProfile,
  ModelRequest,
  ModelSink,
  Thinking,
  ToolChoice,
  WireListener,
} from '../model/chatModel.ts'
export type { Clock } from '../model/clock.ts'
export { cosineSimilarity } from '../model/cosineSimilarity.ts'
export type { Delta } from '../model/delta.ts'
export type { RetryPolicy } from '../model/retryPolicy.ts'
export {
  codeExecution,
  fileSearch,
  imageGeneration,
  type ServerTool,
  webFetch,
  webSearch,
} from '../model/serverTools.ts'
export type { Approval, ApprovalOptions, CallDecision, OnApproval } from '../tools/approval.ts'
export { deferred } from '../tools/deferred.ts'
export type { Infer, Schema, StandardSchema } from '../tools/schema.ts'
export { type SleepOptions, sleepTool } from '../tools/sleep.ts'
export {
  type OnExpired,
  type OnInterrupted,
  type Tool,
  type ToolContext,
  type ToolOptions,
  type ToolSource,
  tool,
} from '../tools/tool.ts'
export type { OnToolError } from '../tools/toolError.ts'
export { createToolExecutor, type ToolExecutor } from '../tools/toolExecutor.ts'
export type { Limits } from '../transport/limits.ts'
