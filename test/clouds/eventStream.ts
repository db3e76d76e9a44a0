import { EventStreamCodec } from '@smithy/eventstream-codec'

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()),
  (text) => Buffer.from(text),
)

/** A frame as AWS writes it, with its headers and checksums. */
export const frame = (headers: Record<string, string>, body: string | object): Uint8Array =>
  codec.encode({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [`:${name}`, { type: 'string', value }]),
    ),
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  })

/** An event of Claude in a frame of Bedrock, with the padding that hides its length. */
export const chunkFrame = (event: object): Uint8Array =>
  frame(
    { 'event-type': 'chunk', 'content-type': 'application/json', 'message-type': 'event' },
    { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdefgh' },
  )

export const exceptionFrame = (type: string, message: string): Uint8Array =>
  frame(
    { 'exception-type': type, 'content-type': 'application/json', 'message-type': 'exception' },
    { message },
  )

const text = (words: string): object[] => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
  { type: 'content_block_stop', index: 0 },
]

const start = {
  type: 'message_start',
  message: { id: 'msg_bdrk_1', role: 'assistant', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
}

const end = (reason: string): object[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 7 } },
  {
    type: 'message_stop',
    'amazon-bedrock-invocationMetrics': { inputTokenCount: 5, outputTokenCount: 7, firstByteLatency: 3 },
  },
]

export const saying = (words: string): object[] => [start, ...text(words), ...end('end_turn')]

export const calling = (name: string, input: object): object[] => [
  start,
  {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'toolu_1', name, input: {} },
  },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
  },
  { type: 'content_block_stop', index: 0 },
  ...end('tool_use'),
]

export const streamOf = (events: readonly object[]): Uint8Array => Buffer.concat(events.map(chunkFrame))

export const eventStreamType = { 'content-type': 'application/vnd.amazon.eventstream' }

/** An event of ConverseStream: its name is a header of its frame. */
export type ConverseEvent = [name: string, content: object]

export const converseStream = (...events: ConverseEvent[]): Uint8Array =>
  Buffer.concat(
    events.map(([name, content]) =>
      frame(
        { 'event-type': name, 'content-type': 'application/json', 'message-type': 'event' },
        { ...content, p: 'abcdefghijk' },
      ),
    ),
  )
