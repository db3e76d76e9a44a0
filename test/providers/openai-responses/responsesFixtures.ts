import { type OpenAIResponsesProfile, openaiResponses } from '../../../providers/openai-responses/index.ts'
import type { Target } from '../../../providers/wire/protocol.ts'
import type { JsonObject } from '../../../src/messages/json.ts'
import type { ChatMessage, Part } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import type { Delta } from '../../../src/model/delta.ts'

export const target = (
  profile: Partial<OpenAIResponsesProfile> = {},
  provider = 'openai-responses',
): Target<OpenAIResponsesProfile> => ({
  provider,
  model: 'gpt-5-mini',
  profile: {
    tools: true,
    parallelTools: true,
    nativeSchema: true,
    schemaWithTools: true,
    thinking: true,
    attachments: { images: true, pdf: true, audio: false, links: true },
    ...profile,
  },
})

export const bodyOf = (request: ModelRequest, profile: Partial<OpenAIResponsesProfile> = {}): JsonObject =>
  openaiResponses.request({ cache: 'off', ...request }, target(profile)).body

/** Decodes typed events given as objects, up to the end of the body. */
export const decode = (...events: JsonObject[]): Delta[] => {
  const decoder = openaiResponses.decoder(target())
  const deltas = events.flatMap((event) => decoder.push({ data: JSON.stringify(event) }))
  return [...deltas, ...decoder.end()]
}

export const ofType = <T extends Delta['type']>(deltas: readonly Delta[], type: T) =>
  deltas.filter((delta): delta is Extract<Delta, { type: T }> => delta.type === type)

export const textIn = (deltas: readonly Delta[]): string =>
  ofType(deltas, 'text')
    .map((delta) => delta.text)
    .join('')

export const thinkingIn = (deltas: readonly Delta[]): string =>
  ofType(deltas, 'thinking')
    .map((delta) => delta.text)
    .join('')

export const callsIn = (deltas: readonly Delta[]) => ofType(deltas, 'toolCall').map((delta) => delta.call)

/** The model message an answer becomes, as an engine would keep it. */
export const messageFrom = (deltas: readonly Delta[]): ChatMessage => {
  const text = textIn(deltas)
  const parts: Part[] = callsIn(deltas).map((call) => ({ type: 'toolCall', ...call }))
  const opaque = ofType(deltas, 'opaque')[0]
  return {
    role: 'model',
    parts: text === '' ? parts : [{ type: 'text', text }, ...parts],
    ...(opaque && { metadata: { [opaque.protocol]: opaque.data } }),
  }
}

export const created = (id = 'resp_1'): JsonObject => ({
  type: 'response.created',
  response: { id, object: 'response', status: 'in_progress', output: [], usage: null },
})

export const completed = (response: JsonObject = {}): JsonObject => ({
  type: 'response.completed',
  response: { id: 'resp_1', object: 'response', status: 'completed', output: [], ...response },
})

export const incomplete = (reason: string, response: JsonObject = {}): JsonObject => ({
  type: 'response.incomplete',
  response: {
    id: 'resp_1',
    object: 'response',
    status: 'incomplete',
    incomplete_details: { reason },
    output: [],
    ...response,
  },
})

export const added = (output_index: number, item: JsonObject): JsonObject => ({
  type: 'response.output_item.added',
  output_index,
  item,
})

export const done = (output_index: number, item: JsonObject): JsonObject => ({
  type: 'response.output_item.done',
  output_index,
  item,
})

export const textDelta = (output_index: number, delta: string, more: JsonObject = {}): JsonObject => ({
  type: 'response.output_text.delta',
  output_index,
  content_index: 0,
  delta,
  ...more,
})

export const argumentsDelta = (output_index: number, delta: string, more: JsonObject = {}): JsonObject => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  delta,
  ...more,
})

export const messageItem = (text: string, more: JsonObject = {}): JsonObject => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
})

export const callItem = (call_id: string, name: string, args: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: args,
  status: 'completed',
  ...more,
})

export const reasoningItem = (id: string, encrypted_content: string | null, summary = ''): JsonObject => ({
  type: 'reasoning',
  id,
  encrypted_content,
  summary: summary === '' ? [] : [{ type: 'summary_text', text: summary }],
})

/** A promise about a stream: its name, its events, and all deltas that come out. */
export type Row = [string, JsonObject[], object[]]

export const response = { type: 'response', id: 'resp_1' }
export const text = (text: string) => ({ type: 'text', text })
export const metadata = (values: object) => ({ type: 'metadata', metadata: values })
export const kept = (data: object = { responseId: 'resp_1' }) => ({
  type: 'opaque',
  protocol: 'openai-responses',
  data: { provider: 'openai-responses', ...data },
})
export const finish = (reason: string, raw = 'completed') => ({ type: 'finish', reason, raw })
export const failed = (error: object, raw?: string) => ({
  type: 'error',
  error: { name: 'ModelError', ...error },
  ...(raw !== undefined && { raw }),
})
export const truncated = failed({
  message: 'The stream ended before it was complete: response.completed never came.',
  code: 'truncated',
  retryable: true,
})
