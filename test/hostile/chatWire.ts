import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { type CallOnWire, halves, objects, parsed, present, sse, type Turn, text, type Wire } from './wire.ts'

/** A chunk with this delta. */
export const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})

/** A piece of a call in one chunk; every field may be missing, null or empty. */
export type CallPiece = { index?: number | null; id?: string | null; name?: string; args?: JsonValue }

export const callPiece = ({ index, id, name, args }: CallPiece): JsonObject =>
  present({ index, id, type: 'function', function: present({ name, arguments: args }) })

export const callChunk = (...pieces: CallPiece[]): JsonObject => chunk({ tool_calls: pieces.map(callPiece) })

export const usageChunk: JsonObject = {
  ...chunk({}),
  choices: [],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
}

/** Chunks, a finish reason, `[DONE]`. */
export const chatEvents = (chunks: JsonObject[], finish: string): string[] =>
  sse(...chunks, chunk({}, finish), '[DONE]')

const callChunks = (calls: CallOnWire[]): JsonObject[] =>
  calls.flatMap(({ args, ...call }, index) => {
    const pieces = typeof args === 'string' ? halves(args) : []
    const first = callChunk({ index, ...call, args: typeof args === 'string' ? '' : (args ?? '') })
    return [first, ...pieces.map((piece) => callChunk({ index, args: piece }))]
  })

const contentChunks = ({ text: words = '', calls = [] }: Turn): JsonObject[] => [
  chunk({ role: 'assistant', content: '' }),
  ...halves(words).map((half) => chunk({ content: half })),
  ...callChunks(calls),
]

const sentCalls = (body: JsonObject) =>
  objects(body.messages).flatMap((message) =>
    objects(message.tool_calls).map((call) => {
      const called = call.function as JsonObject
      return { id: text(call.id), name: text(called.name), args: parsed(called.arguments) }
    }),
  )

const sentResults = (body: JsonObject) =>
  objects(body.messages)
    .filter((message) => message.role === 'tool')
    .map((message) => ({ id: text(message.tool_call_id), text: text(message.content) }))

const words = { stop: 'stop', toolCalls: 'tool_calls', length: 'length', filter: 'content_filter' }

export const openai: Wire = {
  model: 'openai:m',
  contentType: 'text/event-stream',
  words,
  endMarks: 3,
  events: (turn) => {
    const finish = turn.finish ?? (turn.calls ? 'tool_calls' : 'stop')
    return sse(...contentChunks(turn), chunk({}, finish), usageChunk, '[DONE]')
  },
  sentCalls,
  sentResults,
}

export const mistral: Wire = {
  ...openai,
  model: 'mistral:m',
  endMarks: 2,
  events: (turn) => {
    const finish = turn.finish ?? (turn.calls ? 'tool_calls' : 'stop')
    return sse(
      ...contentChunks(turn),
      {
        ...chunk({ content: '' }, finish),
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      },
      '[DONE]',
    )
  },
}
