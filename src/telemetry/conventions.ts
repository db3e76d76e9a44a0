import type { FinishReason, Usage } from '../messages/result.ts'
import type { GenerationSettings } from '../model/chatModel.ts'

/*
 * The part of the semantic conventions for generative AI, version 1.41, that runs use: the names of everything that is
 * sent, and the values that they allow. They are in no other file, so another version is a change of this one.
 */

export const scope = { name: 'statewire', schemaUrl: 'https://opentelemetry.io/schemas/1.41.0' } as const

export type OperationName = 'invoke_agent' | 'chat' | 'execute_tool' | 'embeddings'

export const attribute = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agent: 'gen_ai.agent.name',
  model: 'gen_ai.request.model',
  stream: 'gen_ai.request.stream',
  outputType: 'gen_ai.output.type',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  conversation: 'gen_ai.conversation.id',
  session: 'session.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolDescription: 'gen_ai.tool.description',
  callId: 'gen_ai.tool.call.id',
  tokenType: 'gen_ai.token.type',
  errorType: 'error.type',
} as const

/** Attributes that are only there where content is recorded. */
export const content = {
  system: 'gen_ai.system_instructions',
  input: 'gen_ai.input.messages',
  output: 'gen_ai.output.messages',
  tools: 'gen_ai.tool.definitions',
  callArguments: 'gen_ai.tool.call.arguments',
  callResult: 'gen_ai.tool.call.result',
} as const

/** Attributes that the conventions have no name for. */
export const own = {
  runId: 'statewire.run.id',
  runStatus: 'statewire.run.status',
  phase: 'statewire.phase',
  step: 'statewire.step',
  texts: 'statewire.embeddings.texts',
  attempt: 'statewire.attempt',
  delayMs: 'statewire.delay_ms',
  /** Marks a request for a summary. */
  summary: 'statewire.summary',
  waitsFor: 'statewire.wait.kind',
  waitingTools: 'statewire.wait.tools',
  /** The verdict of a policy, the state that it was in, and the call or the message that it is about. */
  verdict: 'statewire.policy.verdict',
  policyState: 'statewire.policy.state',
  judged: 'statewire.policy.item',
  omittedMessages: 'statewire.omitted_messages',
  /** The parts in which a request does not begin with the one before it. */
  prefixChanged: 'statewire.prefix.changed',
} as const

export const settingNames = {
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  maxOutputTokens: 'gen_ai.request.max_tokens',
  seed: 'gen_ai.request.seed',
  stopSequences: 'gen_ai.request.stop_sequences',
} as const satisfies Partial<Record<keyof GenerationSettings, string>>

export const usageNames = {
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
} as const satisfies Partial<Record<keyof Usage, string>>

/** The cost of a request in US dollars. The conventions have no name for it; backends read this one. */
export const costName = 'gen_ai.usage.cost'

const seconds = {
  unit: 's',
  advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power) },
}

export const metric = {
  duration: {
    name: 'gen_ai.client.operation.duration',
    options: { ...seconds, description: 'How long an operation took.' },
  },
  timeToFirstChunk: {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    options: { ...seconds, description: 'From the request to the first chunk of its answer.' },
  },
  tokens: {
    name: 'gen_ai.client.token.usage',
    options: {
      unit: '{token}',
      description: 'Input and output tokens of a request.',
      advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, power) => 4 ** power) },
    },
  },
} as const

export const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  toolCalls: 'tool_call',
  contentFilter: 'content_filter',
  maxSteps: 'length',
  limit: 'length',
  aborted: 'error',
  error: 'error',
  unspecified: 'stop',
}

const providers = new Map([
  ['openai-responses', 'openai'],
  ['openai-chat', 'openai'],
  ['openai-compatible', 'openai'],
  ['azure', 'azure.ai.openai'],
  ['azure-responses', 'azure.ai.openai'],
  ['azure-chat', 'azure.ai.openai'],
  ['google', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['bedrock', 'aws.bedrock'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
])

/** The name that the conventions have for a provider. Other providers keep their own name. */
export const providerName = (provider: string): string => providers.get(provider) ?? provider

/** The error type of a tool's error result. */
export const toolError = 'tool_error'

/** Cuts an id or a name that came from a server or a model. Real ones are shorter, but a server may send anything. */
export const shortId = (id: string): string => id.slice(0, 200)
