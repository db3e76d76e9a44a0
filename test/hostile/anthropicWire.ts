import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { type CallOnWire, halves, namedSse, objects, present, type Turn, text, type Wire } from './wire.ts'

export const messageStart = (
  usage: JsonObject = { input_tokens: 10, output_tokens: 1 },
  id = 'msg_1',
): JsonObject => ({
  type: 'message_start',
  message: {
    id,
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage,
  },
})

export const open = (index: number, content_block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block,
})

export const grow = (index: number, delta: JsonObject): JsonObject => ({
  type: 'content_block_delta',
  index,
  delta,
})

export const close = (index: number): JsonObject => ({ type: 'content_block_stop', index })

export const messageEnd = (stop_reason: string, usage: JsonObject = { output_tokens: 5 }): JsonObject[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]

export const textBlock = (index: number, words: string): JsonObject[] => [
  open(index, { type: 'text', text: '' }),
  ...halves(words).map((half) => grow(index, { type: 'text_delta', text: half })),
  close(index),
]

export const toolBlock = (index: number, { id, name, args }: CallOnWire): JsonObject[] => {
  const isText = typeof args === 'string'
  const input: JsonValue | undefined = isText ? {} : args
  return [
    open(index, present({ type: 'tool_use', id, name, input })),
    ...(isText ? halves(args) : []).map((piece) =>
      grow(index, { type: 'input_json_delta', partial_json: piece }),
    ),
    close(index),
  ]
}

/** A whole message of these block events. */
export const message = (blocks: JsonObject[], stop_reason: string): string[] =>
  namedSse(messageStart(), ...blocks, ...messageEnd(stop_reason))

const events = ({ text: words = '', calls, finish }: Turn): string[] => {
  const first = words === '' ? 0 : 1
  const blocks = [
    ...(words === '' ? [] : textBlock(0, words)),
    ...(calls ?? []).flatMap((call, at) => toolBlock(at + first, call)),
  ]
  return message(blocks, finish ?? (calls ? 'tool_use' : 'end_turn'))
}

const blocksOf = (body: JsonObject): JsonObject[] =>
  objects(body.messages).flatMap((each) => objects(each.content))

export const anthropic: Wire = {
  model: 'anthropic:claude-sonnet-4-5',
  contentType: 'text/event-stream',
  words: { stop: 'end_turn', toolCalls: 'tool_use', length: 'max_tokens', filter: 'refusal' },
  endMarks: 2,
  events,
  sentCalls: (body) =>
    blocksOf(body)
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ id: text(block.id), name: text(block.name), args: block.input })),
  sentResults: (body) =>
    blocksOf(body)
      .filter((block) => block.type === 'tool_result')
      .map((block) => ({ id: text(block.tool_use_id), text: text(block.content) })),
}
