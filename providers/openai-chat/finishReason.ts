import type { FinishReason } from '../../src/messages/result.ts'

const words: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['stop_sequence', 'stop'],
  ['end_turn', 'stop'],
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['completed', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['model_length', 'length'],
  ['tool_calls', 'toolCalls'],
  ['tool_call', 'toolCalls'],
  ['tool_use', 'toolCalls'],
  ['function_call', 'toolCalls'],
  ['content_filter', 'contentFilter'],
  ['content-filter', 'contentFilter'],
  ['safety', 'contentFilter'],
  ['sensitive', 'contentFilter'],
  ['refusal', 'contentFilter'],
  ['recitation', 'contentFilter'],
  ['prohibited_content', 'contentFilter'],
  ['error', 'error'],
  ['network_error', 'error'],
  ['insufficient_system_resource', 'error'],
])

/**
 * The finish word of a server in statewire's terms. Servers often say "stop" although the model called a tool, and an
 * answer that ended with an unknown word, or none, has stopped.
 */
export const finishReason = (raw: string | undefined, hasCalls: boolean): FinishReason => {
  const reason = (raw !== undefined && words.get(raw.toLowerCase())) || 'stop'
  return reason === 'stop' && hasCalls ? 'toolCalls' : reason
}
