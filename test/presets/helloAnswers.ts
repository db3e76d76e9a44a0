/** A whole answer that says "hello", in the words of each protocol. */
const chat =
  'data: {"id":"1","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

const answers: Record<string, string> = {
  'openai-responses':
    'data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"hello"}\n\n' +
    'data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}\n\n',
  anthropic:
    'data: {"type":"message_start","message":{"id":"m","content":[]}}\n\n' +
    'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hello"}}\n\n' +
    'data: {"type":"content_block_stop","index":0}\n\n' +
    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n' +
    'data: {"type":"message_stop"}\n\n',
  google: 'data: {"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":"STOP"}]}\n\n',
  ollama: '{"message":{"role":"assistant","content":"hello"},"done":true,"done_reason":"stop"}\n',
  cohere:
    'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"hello"}}}}\n\n' +
    'data: {"type":"message-end","delta":{"finish_reason":"COMPLETE"}}\n\n',
}

/** Clouds speak the protocols of others; Bedrock's frames are not text, but its wire reads text, too. */
const protocols: Record<string, string> = {
  'azure-responses': 'openai-responses',
  xai: 'openai-responses',
  perplexity: 'openai-responses',
  vertex: 'google',
  bedrock: 'anthropic',
}

export const helloFrom = (provider: string): string => answers[protocols[provider] ?? provider] ?? chat
