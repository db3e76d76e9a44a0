import type { FinishReason } from '../../src/messages/result.ts'

/** The words with which servers end an answer, by their meaning. Upper and lower case are the same. */
const words: Partial<Record<FinishReason, readonly string[]>> = {
  stop: [
    'stop',
    'stop_sequence',
    'end_turn',
    'eos',
    'eos_token',
    'completed',
    'complete',
    'in_progress',
    'queued',
    'load',
    'unload',
  ],
  length: ['length', 'max_tokens', 'max_output_tokens', 'model_length', 'continuation'],
  toolCalls: ['tool_calls', 'tool_call', 'tool_use', 'function_call'],
  contentFilter: [
    'content_filter',
    'content-filter',
    'content_filtered',
    'guardrail_intervened',
    'safety',
    'sensitive',
    'refusal',
    'recitation',
    'prohibited_content',
    'language',
    'blocklist',
    'spii',
    'model_armor',
    'jailbreak',
    'image_safety',
    'image_prohibited_content',
    'image_recitation',
    'error_toxic',
  ],
  // The model or its server failed: another try often works.
  error: [
    'error',
    'network_error',
    'insufficient_system_resource',
    'malformed_function_call',
    'unexpected_tool_call',
    'too_many_tool_calls',
    'missing_thought_signature',
    'malformed_response',
    'malformed_model_output',
    'malformed_tool_use',
  ],
}

const reasons: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries(words).flatMap(([reason, list]) => list.map((word) => [word, reason as FinishReason])),
)

/**
 * The meaning of a server's end word. An answer without one has stopped; one with an unknown word is `unspecified`, because
 * the word may say that it is not whole. Servers often say "stop" although the model called a tool.
 */
export const endReason = (raw: string | undefined, hasCalls: boolean): FinishReason => {
  const reason = raw === undefined ? 'stop' : (reasons.get(raw.toLowerCase()) ?? 'unspecified')
  return hasCalls && (reason === 'stop' || reason === 'unspecified') ? 'toolCalls' : reason
}
