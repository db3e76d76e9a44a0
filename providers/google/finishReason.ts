import type { FinishReason } from '../../src/messages/result.ts'

const filtered = [
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  // The model tried to call a tool and failed: another try often works.
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['MISSING_THOUGHT_SIGNATURE', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
  ...filtered.map((word) => [word, 'contentFilter'] as const),
])

export const finishReasonOf = (
  raw: string | undefined,
  blocked: boolean,
  hasCalls: boolean,
): FinishReason => {
  if (raw === undefined && blocked) return 'contentFilter'
  const reason = reasons.get(raw ?? 'STOP') ?? 'stop'
  return hasCalls && reason === 'stop' ? 'toolCalls' : reason
}
