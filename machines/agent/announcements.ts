import type { AnyActorRef } from 'xstate'
import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
  toolCallsOf,
} from '../../src/messages/messages.ts'
import type { ChatResult, PendingCall } from '../../src/messages/result.ts'
import { errorOf } from '../../src/tools/toolError.ts'
import { timeOf } from '../logic/systemTime.ts'
import { hasAcceptedText, unjudgedText, withoutText } from '../policy/unjudged.ts'
import { toolsOf } from '../tools/runTools.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { RunResult } from './agentOutput.ts'
import { isNewlineDue } from './answer.ts'
import type { AgentEmitted, Asked } from './events.ts'
import { reachedIn } from './limits.ts'
import { copyOf, type StreamingState } from './streamingState.ts'

// The events that a run emits, as its listeners get them. They are copies: a listener must not change the run.

type Chunk = { type: 'chunk' } & ChatResult

export const chunkOf = (
  id: string,
  output: string,
  messages: ChatMessage[],
  metadata: JsonObject,
): Chunk => ({
  type: 'chunk',
  id,
  output,
  messages,
  finishReason: 'unspecified',
  metadata,
})

/** Shows readers of chunks that the current message starts over, so that they discard its text. */
export const restartChunk = (): Chunk => chunkOf('', '', [], { restart: true })

/**
 * The chunks of a run whose message starts over. The part before a provider's pause is still valid, so it is shown
 * again.
 */
export const restartChunks = (state: StreamingState): Chunk[] => {
  const kept = state.paused ? textOf(state.paused) : ''
  if (kept === '') return [restartChunk()]
  const isSetOff = isNewlineDue({ ...state, paused: null })
  return [restartChunk(), chunkOf(state.totals.responseId, isSetOff ? `\n${kept}` : kept, [], {})]
}

/** A message that joined the conversation, as listeners get it. */
export const announcementOf = (responseId: string, stored: ChatMessage): AgentEmitted[] => {
  const message = copyOf(stored)
  return [chunkOf(responseId, '', [message], {}), { type: 'message', message }]
}

/** A message as listeners get it: text that a policy holds comes later, with the accepted answer. */
export const asShown = (config: ResolvedConfig, self: AnyActorRef, message: ChatMessage): ChatMessage =>
  config.policy?.holdsChunks
    ? withoutText(message, (name) => toolsOf(config, self).get(name)?.inputSchema === null)
    : message

/**
 * The text of an answer that was held back, and its message. A message with calls was announced before the calls were
 * judged.
 */
export const heldAnswer = (state: StreamingState): AgentEmitted[] => {
  const { messages, totals, options } = state
  const message = messages.at(-1)
  if (!message) return []
  const text = options.outputSchema === null ? unjudgedText(state) : textOf(message)
  const output = hasAcceptedText(state) ? `\n${text}` : text
  return [
    ...(text === '' ? [] : [chunkOf(totals.responseId, output, [], {})]),
    ...(toolCallsOf(message).length > 0 ? [] : announcementOf(totals.responseId, message)),
  ]
}

/** The last chunk of a run: its finish reason, and the usage of all its steps. */
export const finalChunk = ({ totals, policy }: RunResult): Chunk => ({
  type: 'chunk',
  id: totals.responseId,
  output: '',
  messages: [],
  finishReason: totals.finishReason,
  ...(totals.rawFinishReason !== null && { rawFinishReason: totals.rawFinishReason }),
  metadata: {},
  ...(totals.usage && { usage: { ...totals.usage } }),
  ...(totals.warnings && { warnings: copyOf(totals.warnings) }),
  ...(policy && { policy: copyOf(policy) }),
})

export const stepOf = ({ step, answer }: StreamingState, self: AnyActorRef, asked: Asked): AgentEmitted => ({
  type: 'step',
  step,
  ...asked,
  usage: copyOf(answer.accumulated.usage),
  metrics: {
    timeToFirstChunkMs: answer.firstChunkAt === null ? null : answer.firstChunkAt - answer.askedAt,
    durationMs: timeOf(self) - answer.askedAt,
    chunks: answer.chunks,
  },
})

export const resultEvent = (result: ToolResultPart): AgentEmitted => {
  const error = errorOf(result)
  return { type: 'tool.result', callId: result.id, result: copyOf(result), ...(error && { error }) }
}

export const callEvent = (call: ToolCallPart): AgentEmitted => ({
  type: 'tool.call',
  callId: call.id,
  call: copyOf(call),
})

/** The agent, the provider and the model that are asked. */
export const askedIn = ({ name, models }: ResolvedConfig, { request }: StreamingState): Asked => {
  const asked: Partial<Asked> = request.prepared ?? models[request.modelIndex] ?? {}
  const { provider = '', model = '', protocol } = asked
  return {
    ...(name !== undefined && { agent: name }),
    provider,
    model,
    ...(protocol !== undefined && { protocol }),
  }
}

/** The event for a call that a run begins to wait for. */
export const askEvent = ({ kind, inDoubt, question, expiresAt, ...call }: PendingCall): AgentEmitted =>
  kind === 'limit'
    ? { type: 'limit', callId: call.id, ...(question && { question }), ...reachedIn(call.arguments) }
    : {
        ...(kind === 'approval'
          ? { type: 'tool.approval', ...(inDoubt && { inDoubt }) }
          : { type: 'tool.external' }),
        callId: call.id,
        ...(question && { question }),
        ...(expiresAt !== undefined && { expiresAt }),
        call: copyOf(call),
      }
