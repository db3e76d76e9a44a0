/**
 * What other libraries did with the same answers from the same kind of server, as measured once: a tool loop of at most
 * three turns, two tools, retries off. The cells are a transcript and are not measured again here.
 */
export type Peer = { name: string; version: string }

export const peers = {
  vercel: { name: 'Vercel AI SDK', version: '7' },
  pi: { name: 'pi-ai', version: '0.87.1' },
} satisfies Record<string, Peer>

export type PeerName = keyof typeof peers

/** ✓ right, ✗ wrong, ◐ half right; then what happened. Without a mark, either way can be defended. */
export type PeerResults = Readonly<Record<string, readonly string[]>>

export const chatPeers: readonly PeerName[] = ['vercel', 'pi']

export const chatResults: PeerResults = {
  idx0_reuse: ['✓', '✗ second call lost'],
  no_index: ['✓', '✓'],
  no_id: ['✓', '◐ runs, replays "" as id'],
  empty_id: ['✓', '✗ both replay ""'],
  late_id: ['◐ own id kept, real id dropped', '✓'],
  late_name: ['✓', '✓'],
  dup_id: ['✓', '✗ one call lost'],
  name_every_delta: ['✓', '✓'],
  args_object: ['✗ ends in an error', '✗ not run'],
  args_none: ['✓', '✓'],
  stop_with_call: ['✓', '✓'],
  tool_word_without_call: ['✓', '✓'],
  length_with_whole_call: ['not run, ends', 'not run, model informed'],
  cut_args_tool_calls: ['✓', '✗ executes it'],
  cut_args_length: ['✓', '✓'],
  eof_in_args: ['◐ error, then the loop goes on', '✓'],
  eof_after_text: ['✓', '✓'],
  reset: ['◐ iterator throws, cause nested', '✓'],
  error_chunk: ['✓', '✓'],
  no_choices: ['✗ finish is an error', '✓'],
  usage_every_chunk: ['✓', '✓'],
  no_done: ['✓', '✓'],
  no_blank_line: ['✗ event lost, error', '✗ error'],
  odd_framing: ['✓', '✓'],
  empty_data: ['◐ spurious error part, goes on', '✗ run dies'],
  content_parts: ['✓', '✗ "[object Object]"'],
  reasoning_content: ['✓', '✓'],
  error_body: ['✗ "no finish reason"', '✗ "without finish_reason"'],
  unknown_tool: ['✓', '✓'],
}

export const anthropicPeers: readonly PeerName[] = ['vercel', 'pi']

export const anthropicResults: PeerResults = {
  interleaved_blocks: ['✓', '✓'],
  whole_input: ['✓', '✗ `{}`'],
  signature: ['✓', '✓'],
  redacted_thinking: ['✓', '✓'],
  cut_input_max_tokens: ['✓', '✓'],
  cut_input_tool_use: ['✓', '✗ executes it'],
  eof_in_tool: ['✓', '✓'],
  eof_in_text: ['✓', '✓'],
  overloaded: ['✓', '✓ raw JSON as message'],
  pause_turn: ['✗ stops', '✗'],
  refusal: ['✓', '✓'],
  unknown: ['✗ an error part for each', '✓'],
  unknown_stop_reason: ['✓', '✗ error'],
}
