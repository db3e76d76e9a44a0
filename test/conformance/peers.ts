/**
 * What other libraries did with the same answers from the same kind of server, as measured once: a tool loop of at most
 * three turns, two tools, retries off. The cells are a transcript and are not measured again here.
 */
export type Peer = { name: string; version: string }

export const peers = {
  vercel: { name: 'Vercel AI SDK', version: '7' },
  openaiAgents: { name: 'OpenAI Agents JS', version: 'version not recorded' },
  langgraph: { name: 'LangGraph.js', version: 'version not recorded' },
  tanstack: { name: 'TanStack AI', version: 'version not recorded' },
  pi: { name: 'pi-ai', version: '0.87.1' },
} satisfies Record<string, Peer>

export type PeerName = keyof typeof peers

/** ✓ right, ✗ wrong, ◐ half right; then what happened. Where no mark stands, either way can be defended. */
export type PeerResults = Readonly<Record<string, readonly string[]>>

export const chatPeers: readonly PeerName[] = ['vercel', 'openaiAgents', 'langgraph', 'tanstack', 'pi']

export const chatResults: PeerResults = {
  idx0_reuse: ['✓', '✗ name doubled, run dies', '✓', '✗ second call lost', '✗ second call lost'],
  no_index: ['✓', '✗ run dies', '✓', '✗ second call lost', '✓'],
  no_id: ['✓', '✗ run dies', '✗ ends silently', '✗ ends silently', '◐ runs, replays "" as id'],
  empty_id: ['✓', '✗ run dies', '✗ ends silently', '✗ ends silently', '✗ both replay ""'],
  late_id: ['◐ own id kept, real id dropped', '✓', '✓', '✓', '✓'],
  late_name: ['✓', '✓', '✓', '✓', '✓'],
  dup_id: ['✓', '✗ run dies', '✗ one result for two calls', '✗ one call lost', '✗ one call lost'],
  name_every_delta: ['✓', '✗ run dies', '✓', '✓', '✓'],
  args_object: ['✗ ends in an error', '✗ not run', '✗ ends silently', '✗ "[object Object]"', '✗ not run'],
  args_none: ['✓', '✗ not run, error fed back', '✓', '✓', '✓'],
  stop_with_call: ['✓', '✓', '✓', '✓', '✓'],
  tool_word_without_call: ['✓', '✓', '✓', '✓', '✓'],
  length_with_whole_call: ['not run, ends', 'runs it', 'runs it', 'runs it', 'not run, model told'],
  cut_args_tool_calls: ['✓', '✓ raw text replayed', '✗ executes it', '✓', '✗ executes it'],
  cut_args_length: ['✓', '✓', '✗ executes it', '✓', '✓'],
  eof_in_args: ['◐ error, then the loop goes on', '✗ goes on', '✗ executes it', '✗ goes on', '✓'],
  eof_after_text: ['✓', '✗ success', '✗ success', '✗ success', '✓'],
  reset: ['◐ iterator throws, cause nested', '✓', '✓', '✓', '✓'],
  error_chunk: ['✓', '✓', '✓', '✓', '✓'],
  no_choices: ['✗ finish is an error', '✓', '✓', '✗ TypeError', '✓'],
  usage_every_chunk: ['✓', '✓', '✓', '✓', '✓'],
  no_done: ['✓', '✓', '✓', '✓', '✓'],
  no_blank_line: ['✗ event lost, error', '✗ event lost, success', '✗', '✗', '✗ error'],
  odd_framing: ['✓', '✓', '✓', '✓', '✓'],
  empty_data: ['◐ spurious error part, goes on', '✗ run dies', '✗ run dies', '✗ run dies', '✗ run dies'],
  content_parts: ['✓', '✗ "[object Object]"', '✗ text lost', '✗ "[object Object]"', '✗ "[object Object]"'],
  reasoning_content: ['✓', '✗ dropped', '✗ dropped', '✗ dropped', '✓'],
  error_body: [
    '✗ "no finish reason"',
    '✗ asks again until max turns',
    '✗ "empty response"',
    '✗ empty success',
    '✗ "without finish_reason"',
  ],
  unknown_tool: ['✓', '✗ run dies', '✓', '✓', '✓'],
}

export const anthropicPeers: readonly PeerName[] = ['vercel', 'langgraph', 'tanstack', 'pi']

export const anthropicResults: PeerResults = {
  interleaved_blocks: ['✓', '✓', '✗ first call lost, second `{}`', '✓'],
  whole_input: ['✓', '✗ `{}`', '✗ `{}`', '✗ `{}`'],
  signature: ['✓', '✓', '✓', '✓'],
  redacted_thinking: ['✓', '✓', '✗ dropped', '✓'],
  cut_input_max_tokens: ['✓', '✗ executes it', '✓', '✓'],
  cut_input_tool_use: ['✓', '✗ executes it', '✓', '✗ executes it'],
  eof_in_tool: ['✓', '✗ executes it', '◐ quiet end', '✓'],
  eof_in_text: ['✓', '✗ success', '✗ quiet end', '✓'],
  overloaded: ['✓', '✓ raw JSON as message', '✓ raw JSON as message', '✓ raw JSON as message'],
  pause_turn: ['✗ stops', '✗', '✗', '✗'],
  refusal: ['✓', '◐ no error raised', '◐ no error raised', '✓'],
  unknown: ['✗ an error part for each', '✓', '✓', '✓'],
  unknown_stop_reason: ['✓', '✓', '✓', '✗ error'],
}
