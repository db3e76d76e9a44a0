/** Every event, item, block and part that the official clients' types let a server send is read, or left out on purpose. */
import type {
  BetaContentBlock,
  BetaRawContentBlockDelta,
} from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type { Part as GooglePart, FinishReason as GoogleReason } from '@google/genai'
import type { ContentChunk } from '@mistralai/mistralai/models/components'
import type { Cohere } from 'cohere-ai'
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { ResponseOutputItem, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { anthropic } from '../../../providers/anthropic/index.ts'
import { cohere } from '../../../providers/cohere/index.ts'
import { google } from '../../../providers/google/index.ts'
import { mistral } from '../../../providers/mistral/index.ts'
import { openaiChat } from '../../../providers/openai-chat/index.ts'
import { openaiResponses } from '../../../providers/openai-responses/index.ts'
import { endReason } from '../../../providers/wire/endWords.ts'
import type { Decoder } from '../../../providers/wire/protocol.ts'
import type { FinishReason } from '../../../src/messages/result.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { target as claude } from '../anthropic/wire.ts'
import { target as command } from '../cohere/target.ts'
import { target as gemini } from '../google/wire.ts'
import { plainProfile } from '../openai-chat/plainProfile.ts'
import { target as gpt } from '../openai-responses/responsesFixtures.ts'

// The lists compile only while they are those of the clients: a type that a new release adds has to be decided on here.

type Kind = Delta['type']

const kindsFrom = (decoder: Decoder, ...events: object[]): Kind[] => [
  ...new Set(
    events.flatMap((event) => decoder.push({ data: JSON.stringify(event) })).map(({ type }) => type),
  ),
]

/** The parts of it that a user, or the next request, gets. */
const kept = (kinds: Kind[]): Kind[] =>
  kinds.filter((kind) => !['response', 'progress', 'toolDelta', 'usage', 'finish'].includes(kind))

const image = 'aGVsbG8='

/** Everything that an event may bring beside its type. */
const eventFields = {
  item_id: 'i',
  output_index: 0,
  content_index: 0,
  summary_index: 0,
  delta: 'd',
  text: 't',
  code: 'c',
  refusal: 'r',
  transcript: 's',
  arguments: '{}',
  input: 'i',
  partial_image_b64: image,
  part: { type: 'output_text', text: 'p' },
  annotation: { type: 'url_citation', url: 'https://example.com' },
}
const item = { type: 'message', id: 'i', role: 'assistant', content: [] }

const events: { [E in ResponseStreamEvent['type']]: [Kind[], object?] } = {
  'response.created': [
    ['response'],
    { response: { id: 'r', status: 'in_progress' }, output_index: undefined },
  ],
  'response.in_progress': [
    ['response'],
    { response: { id: 'r', status: 'in_progress' }, output_index: undefined },
  ],
  'response.queued': [['response'], { response: { id: 'r', status: 'queued' }, output_index: undefined }],
  'response.completed': [['response', 'opaque', 'finish'], { response: { id: 'r', status: 'completed' } }],
  'response.incomplete': [['response', 'finish'], { response: { id: 'r', status: 'incomplete' } }],
  'response.failed': [['response', 'error'], { response: { id: 'r', status: 'failed' } }],
  error: [['error'], { message: 'Down.' }],
  'response.output_item.added': [['progress'], { item }],
  'response.output_item.done': [[], { item }],
  'response.output_text.delta': [['text']],
  'response.output_text.done': [['text']],
  'response.output_text.annotation.added': [['metadata']],
  'response.content_part.added': [['progress']],
  'response.content_part.done': [['text']],
  'response.refusal.delta': [['progress']],
  'response.refusal.done': [['progress']],
  'response.reasoning_text.delta': [['thinking']],
  'response.reasoning_text.done': [['thinking']],
  'response.reasoning_summary_text.delta': [['thinking']],
  'response.reasoning_summary_text.done': [['thinking']],
  'response.reasoning_summary_part.added': [['progress']],
  'response.reasoning_summary_part.done': [['thinking'], { part: { type: 'summary_text', text: 's' } }],
  'response.function_call_arguments.delta': [['toolDelta']],
  'response.function_call_arguments.done': [['toolDelta']],
  'response.custom_tool_call_input.delta': [['toolDelta']],
  'response.custom_tool_call_input.done': [['toolDelta']],
  'response.code_interpreter_call.in_progress': [['progress']],
  'response.code_interpreter_call.interpreting': [['progress']],
  'response.code_interpreter_call.completed': [['progress']],
  'response.code_interpreter_call_code.delta': [['progress']],
  'response.code_interpreter_call_code.done': [['progress']],
  'response.compaction.compacting': [['progress']],
  'response.file_search_call.in_progress': [['progress']],
  'response.file_search_call.searching': [['progress']],
  'response.file_search_call.completed': [['progress']],
  'response.web_search_call.in_progress': [['progress']],
  'response.web_search_call.searching': [['progress']],
  'response.web_search_call.completed': [['progress']],
  'response.image_generation_call.in_progress': [['progress']],
  'response.image_generation_call.generating': [['progress']],
  'response.image_generation_call.completed': [['progress']],
  'response.image_generation_call.partial_image': [['progress']],
  'response.mcp_call.in_progress': [['progress']],
  'response.mcp_call.completed': [['progress']],
  'response.mcp_call.failed': [['progress']],
  'response.mcp_call_arguments.delta': [['progress']],
  'response.mcp_call_arguments.done': [['progress']],
  'response.mcp_list_tools.in_progress': [['progress']],
  'response.mcp_list_tools.completed': [['progress']],
  'response.mcp_list_tools.failed': [['progress']],
  'response.shell_call_command.added': [['progress']],
  'response.shell_call_command.delta': [['progress']],
  'response.shell_call_command.done': [['progress']],
  'response.shell_call_output_content.delta': [['progress']],
  'response.shell_call_output_content.done': [['progress']],
  'response.audio.delta': [['progress']],
  'response.audio.done': [['progress']],
  'response.audio.transcript.delta': [['progress']],
  'response.audio.transcript.done': [['progress']],
}

describe('the events of OpenAI’s Responses', () => {
  it.each(Object.entries(events))('%s', (type, [kinds, more]) => {
    const decoder = openaiResponses.decoder(gpt())
    expect(kindsFrom(decoder, { type, ...eventFields, ...more })).toEqual(kinds)
  })
})

const output: { [T in ResponseOutputItem['type']]: Kind[] } = {
  message: ['text'],
  reasoning: ['thinking', 'opaque'],
  function_call: ['toolCall'],
  custom_tool_call: ['toolCall', 'opaque'],
  // Calls that the client runs.
  computer_call: ['toolCall', 'opaque'],
  local_shell_call: ['toolCall', 'opaque'],
  shell_call: ['toolCall', 'opaque'],
  apply_patch_call: ['toolCall', 'opaque'],
  mcp_approval_request: ['toolCall', 'opaque'],
  // Tools of the server.
  image_generation_call: ['part', 'metadata'],
  file_search_call: ['metadata'],
  web_search_call: ['metadata'],
  code_interpreter_call: ['metadata'],
  mcp_call: ['metadata'],
  mcp_list_tools: ['metadata'],
  mcp_approval_response: ['metadata'],
  function_call_output: ['metadata'],
  custom_tool_call_output: ['metadata'],
  computer_call_output: ['metadata'],
  local_shell_call_output: ['metadata'],
  shell_call_output: ['metadata'],
  apply_patch_call_output: ['metadata'],
  // What goes back as it came.
  tool_search_call: ['metadata', 'opaque'],
  tool_search_output: ['metadata', 'opaque'],
  program_output: ['metadata', 'opaque'],
  program: ['opaque'],
  additional_tools: ['opaque'],
  compaction: ['opaque'],
}

describe('the items of OpenAI’s Responses', () => {
  const fields = {
    id: 'i',
    call_id: 'c',
    name: 'n',
    arguments: '{}',
    input: 'i',
    result: image,
    encrypted_content: 'e',
    server_label: 's',
    status: 'completed',
  }
  const content: Record<string, object> = {
    message: { content: [{ type: 'output_text', text: 'Hi.', annotations: [] }] },
    reasoning: { summary: [{ type: 'summary_text', text: 'Hm.' }] },
  }
  it.each(Object.entries(output))('%s', (type, kinds) => {
    const whole = { type, ...fields, ...content[type] }
    const follower = { type: 'message', id: 'm', role: 'assistant', content: content.message }
    const found = kindsFrom(
      openaiResponses.decoder(gpt()),
      { type: 'response.output_item.done', output_index: 0, item: whole },
      ...(type === 'reasoning'
        ? [{ type: 'response.output_item.done', output_index: 1, item: { ...follower, ...content.message } }]
        : []),
      { type: 'response.completed', response: { id: 'r', status: 'completed', store: false } },
    )
    const said = kept(found).filter((kind) => type !== 'reasoning' || kind !== 'text')
    expect(said).toEqual(kinds)
  })
})

const blocks: { [T in BetaContentBlock['type']]: Kind[] } = {
  text: ['text'],
  thinking: ['thinking', 'opaque'],
  redacted_thinking: ['opaque'],
  tool_use: ['toolCall'],
  server_tool_use: ['metadata', 'opaque'],
  mcp_tool_use: ['metadata', 'opaque'],
  mcp_tool_result: ['metadata', 'opaque'],
  web_search_tool_result: ['metadata', 'opaque'],
  web_fetch_tool_result: ['metadata', 'opaque'],
  advisor_tool_result: ['metadata', 'opaque'],
  code_execution_tool_result: ['metadata', 'opaque'],
  bash_code_execution_tool_result: ['metadata', 'opaque'],
  text_editor_code_execution_tool_result: ['metadata', 'opaque'],
  tool_search_tool_result: ['metadata', 'opaque'],
  container_upload: ['metadata', 'opaque'],
  compaction: ['opaque'],
  fallback: ['opaque'],
  mcp_tool_listing: ['opaque'],
}

const claudesEnd = [
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  { type: 'message_stop' },
]

describe('the blocks of Claude', () => {
  const content: Record<string, object> = {
    text: { text: 'Hi.' },
    thinking: { thinking: 'Hm.', signature: 's' },
    tool_use: { id: 't', name: 'n', input: {} },
  }
  it.each(Object.entries(blocks))('%s', (type, kinds) => {
    const found = kindsFrom(
      anthropic.decoder(claude),
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: { type, ...content[type] } },
      ...claudesEnd,
    )
    expect(kept(found)).toEqual(kinds)
  })

  const grown: { [T in BetaRawContentBlockDelta['type']]: [block: object, delta: object, kinds: Kind[]] } = {
    text_delta: [{ type: 'text', text: '' }, { text: 'Hi.' }, ['text']],
    thinking_delta: [{ type: 'thinking' }, { thinking: 'Hm.' }, ['thinking', 'opaque']],
    signature_delta: [{ type: 'thinking' }, { signature: 's' }, ['opaque']],
    citations_delta: [{ type: 'text' }, { citation: { url: 'u' } }, ['metadata']],
    input_json_delta: [{ type: 'tool_use', id: 't', name: 'n' }, { partial_json: '{}' }, ['toolCall']],
    compaction_delta: [{ type: 'compaction' }, { content: 'Said.' }, ['opaque']],
  }
  it.each(Object.entries(grown))('%s', (type, [block, delta, kinds]) => {
    const found = kindsFrom(
      anthropic.decoder(claude),
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta: { type, ...delta } },
      ...claudesEnd,
    )
    expect(kept(found)).toEqual(kinds)
  })

  it.each<[reason: string, kinds: Kind[]]>([
    ['prefix_binding_mismatch', ['warning', 'text']],
    // Another model was asked before.
    ['model_binding_mismatch', ['text']],
  ])('thinking that the API left out is reported: %s', (reason, kinds) => {
    const dropped = { type: 'thinking_dropped', path: 'messages.1.content.0', reason }
    const found = kindsFrom(
      anthropic.decoder(claude),
      { type: 'message_start', message: { id: 'm', input_transformations: [dropped, dropped] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi.' } },
      ...claudesEnd,
    )
    expect(kept(found)).toEqual(kinds)
  })
})

const parts: { [K in keyof Required<GooglePart>]: [content: unknown, kinds: Kind[]] } = {
  text: ['Hi.', ['text']],
  thoughtSignature: ['s', ['opaque']],
  functionCall: [{ name: 'f', args: {} }, ['toolCall']],
  inlineData: [{ data: image, mimeType: 'image/png' }, ['part']],
  fileData: [{ fileUri: 'https://example.com/a' }, ['part']],
  audioTranscription: [{ text: 'Hi.' }, ['metadata']],
  executableCode: [{ code: '1' }, ['metadata', 'opaque']],
  codeExecutionResult: [{ output: '1' }, ['metadata', 'opaque']],
  toolCall: [{ id: 'a' }, ['metadata', 'opaque']],
  toolResponse: [{ id: 'a' }, ['metadata', 'opaque']],
  functionResponse: [{ id: 'a', name: 'f', response: {} }, ['metadata', 'opaque']],
  // What a part says about itself, and what only requests have.
  thought: [true, []],
  mediaResolution: [{}, []],
  videoMetadata: [{}, []],
  partMetadata: [{ a: 1 }, []],
  mediaProcessing: [{}, []],
  speechMetadata: [{ speaker: 'a' }, []],
}

it.each(Object.entries(parts))('a part of Gemini: %s', (name, [content, kinds]) => {
  const decoder = google.decoder(gemini)
  const chunk = { candidates: [{ content: { parts: [{ [name]: content }] }, finishReason: 'STOP' }] }
  expect(kept([...kindsFrom(decoder, chunk), ...decoder.end().map(({ type }) => type)])).toEqual(kinds)
})

const reasons: { [K in `${GoogleReason}`]: FinishReason } = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'contentFilter',
  RECITATION: 'contentFilter',
  LANGUAGE: 'contentFilter',
  BLOCKLIST: 'contentFilter',
  PROHIBITED_CONTENT: 'contentFilter',
  SPII: 'contentFilter',
  IMAGE_SAFETY: 'contentFilter',
  IMAGE_PROHIBITED_CONTENT: 'contentFilter',
  IMAGE_RECITATION: 'contentFilter',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  FINISH_REASON_UNSPECIFIED: 'unspecified',
  OTHER: 'unspecified',
  NO_IMAGE: 'unspecified',
  IMAGE_OTHER: 'unspecified',
}

it('the end words of Gemini', () => {
  const found = Object.keys(reasons).map((word) => [word, endReason(word, false)])
  expect(Object.fromEntries(found)).toEqual(reasons)
})

const chunks: { [T in Exclude<ContentChunk['type'], 'UNKNOWN'>]: [content: object, kinds: Kind[]] } = {
  text: [{ text: 'Hi.' }, ['text']],
  thinking: [{ thinking: [{ type: 'text', text: 'Hm.' }] }, ['thinking', 'opaque']],
  reference: [{ reference_ids: [1] }, ['metadata']],
  image_url: [{ image_url: 'https://example.com/a.png' }, ['part']],
  // Only users send these.
  document_url: [{ document_url: 'https://example.com/a.pdf' }, []],
  file: [{ file_id: 'f' }, []],
  input_audio: [{ input_audio: image }, []],
}

it.each(Object.entries(chunks))('a chunk of Mistral: %s', (type, [content, kinds]) => {
  const decoder = mistral.decoder({ provider: 'mistral', model: 'mistral-large-4', profile: plainProfile })
  const choice = { index: 0, delta: { content: [{ type, ...content }] }, finish_reason: 'stop' }
  const found = [...kindsFrom(decoder, { choices: [choice] }), ...decoder.end().map(({ type }) => type)]
  expect(kept(found)).toEqual(kinds)
})

const cohereEvents: { [T in Cohere.V2ChatStreamResponse['type']]: [message: object, kinds: Kind[]] } = {
  'message-start': [{}, ['response']],
  'content-start': [{ content: { type: 'text', text: 'Hi.' } }, ['text']],
  'content-delta': [{ content: { thinking: 'Hm.' } }, ['thinking']],
  'content-end': [{}, []],
  'tool-plan-delta': [{ tool_plan: 'Look.' }, ['progress']],
  'tool-call-start': [{ tool_calls: { id: 'a', function: { name: 'n', arguments: '' } } }, ['toolDelta']],
  'tool-call-delta': [{ tool_calls: { function: { arguments: '{}' } } }, ['toolDelta']],
  'tool-call-end': [{}, []],
  'citation-start': [{ citations: { start: 0 } }, ['metadata']],
  'citation-end': [{}, []],
  'message-end': [{}, ['finish']],
  debug: [{ prompt: 'p' }, []],
}

it.each(Object.entries(cohereEvents))('an event of Cohere: %s', (type, [message, kinds]) => {
  const event = { type, id: 'i', index: 0, delta: { finish_reason: 'COMPLETE', message } }
  expect(kindsFrom(cohere.decoder(command), event)).toEqual(kinds)
})

const chatFields: { [K in keyof Required<ChatCompletionChunk.Choice.Delta>]: [unknown, Kind[]] } = {
  content: ['Hi.', ['text']],
  refusal: ['No.', ['metadata']],
  audio: [{ data: image, transcript: 'Hi.' }, ['part', 'metadata']],
  tool_calls: [[{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }], ['toolCall']],
  function_call: [{ name: 'f', arguments: '{}' }, ['toolCall']],
  role: ['assistant', []],
}

it.each(Object.entries(chatFields))('a field of chat completions: %s', (field, [content, kinds]) => {
  const decoder = openaiChat.decoder({ provider: 'openai', model: 'gpt-4.1', profile: plainProfile })
  const choice = { index: 0, delta: { [field]: content }, finish_reason: 'stop' }
  const found = [...kindsFrom(decoder, { choices: [choice] }), ...decoder.end().map(({ type }) => type)]
  expect(kept(found)).toEqual(kinds)
})
