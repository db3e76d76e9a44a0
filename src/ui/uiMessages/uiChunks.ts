import type { JsonObject, JsonValue } from '../../messages/json.ts'

/** What a stream of UI messages is made of, as far as it is written here: each is understood by `ai` 5, 6 and 7, or marked. */
export type UiChunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'finish-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | { type: 'tool-input-start'; toolCallId: string; toolName: string }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | {
      type: 'tool-input-available'
      toolCallId: string
      toolName: string
      input: JsonObject
      providerExecuted?: true
    }
  | { type: 'tool-input-error'; toolCallId: string; toolName: string; input: string; errorText: string }
  /** From `ai` 6 on. */
  | {
      type: 'tool-approval-request'
      approvalId: string
      toolCallId: string
      reason?: string
      isAutomatic?: true
    }
  /** From `ai` 7 on. */
  | { type: 'tool-approval-response'; approvalId: string; approved: true }
  | { type: 'tool-output-available'; toolCallId: string; output: JsonValue }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  /** From `ai` 6 on. */
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: `data-${string}`; id?: string; data: JsonValue; transient?: boolean }
  | { type: 'finish'; finishReason: UiFinishReason; messageMetadata?: JsonObject }
  | { type: 'error'; errorText: string }
  | { type: 'abort' }

/** The finish reasons that `ai` 5, 6 and 7 share. */
export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'

/** The chunks that a major version of `ai` knows. */
export type UiChunkOf<Version extends 5 | 6 | 7> = Version extends 5
  ? Exclude<UiChunk, { type: 'tool-approval-request' | 'tool-approval-response' | 'tool-output-denied' }>
  : Version extends 6
    ? Exclude<UiChunk, { type: 'tool-approval-response' }>
    : UiChunk
