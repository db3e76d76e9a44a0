import type { JsonObject } from '../../src/messages/json.ts'
import { type CallOnWire, halves, objects, parsed, present, sse, type Turn, text, type Wire } from './wire.ts'

/** A chunk of Gemini's with these parts. */
export const googleChunk = (parts: JsonObject[], finishReason?: string): JsonObject => ({
  candidates: [present({ index: 0, content: { role: 'model', parts }, finishReason })],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  responseId: 'resp-1',
})

export const functionCall = ({ id, name, args }: CallOnWire): JsonObject => ({
  functionCall: present({ id, name, args }),
})

const googleParts = (body: JsonObject): JsonObject[] =>
  objects(body.contents).flatMap((content) => objects(content.parts))

/** Gemini's arguments are values: a text is the JSON that a server of the other kind would have sent. */
const argsValue = (args: CallOnWire['args']): CallOnWire['args'] => {
  if (typeof args !== 'string') return args
  try {
    return parsed(args) as CallOnWire['args']
  } catch {
    return args
  }
}

export const google: Wire = {
  model: 'google:gemini-2.5-flash',
  contentType: 'text/event-stream',
  words: { stop: 'STOP', toolCalls: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY' },
  endMarks: 1,
  events: ({ text: words = '', calls = [], finish = 'STOP' }: Turn) =>
    sse(
      ...halves(words).map((half) => googleChunk([{ text: half }])),
      ...calls.map((call) => {
        const args = argsValue(call.args)
        return googleChunk([functionCall({ ...call, ...(args !== undefined && { args }) })])
      }),
      googleChunk([{ text: '' }], finish),
    ),
  sentCalls: (body) =>
    googleParts(body)
      .filter((part) => 'functionCall' in part)
      .map((part) => {
        const call = part.functionCall as JsonObject
        return { id: text(call.id), name: text(call.name), args: call.args }
      }),
  sentResults: (body) =>
    googleParts(body)
      .filter((part) => 'functionResponse' in part)
      .map((part) => {
        const result = part.functionResponse as JsonObject
        return { id: text(result.id), text: text(result.response) }
      }),
}

/** A line of Ollama's with this message. */
export const ollamaLine = (message: JsonObject, more: JsonObject = {}): string =>
  `${JSON.stringify({ model: 'm', created_at: 't', message: { role: 'assistant', content: '', ...message }, done: false, ...more })}\n`

export const ollamaEnd = (done_reason: string): string =>
  ollamaLine({}, { done: true, done_reason, prompt_eval_count: 10, eval_count: 5 })

export const ollamaCall = ({ id, name, args }: CallOnWire): JsonObject =>
  present({ id, function: present({ name, arguments: args }) })

export const ollama: Wire = {
  model: 'ollama:m',
  contentType: 'application/x-ndjson',
  words: { stop: 'stop', toolCalls: 'tool_calls', length: 'length', filter: 'content_filter' },
  endMarks: 1,
  events: ({ text: words = '', calls = [], finish = 'stop' }: Turn) => [
    ...halves(words).map((half) => ollamaLine({ content: half })),
    ...calls.map((call) => {
      const args = argsValue(call.args)
      return ollamaLine({ tool_calls: [ollamaCall({ ...call, ...(args !== undefined && { args }) })] })
    }),
    ollamaEnd(finish),
  ],
  sentCalls: (body) =>
    objects(body.messages).flatMap((message) =>
      objects(message.tool_calls).map((call) => {
        const called = call.function as JsonObject
        return { id: text(call.id), name: text(called.name), args: called.arguments }
      }),
    ),
  sentResults: (body) =>
    objects(body.messages)
      .filter((message) => message.role === 'tool')
      .map((message) => ({ id: text(message.tool_call_id), text: text(message.content) })),
}

const cohereEvent = (type: string, more: JsonObject): JsonObject => ({ type, ...more })

export const cohereStart = cohereEvent('message-start', {
  id: 'resp-1',
  delta: { message: { role: 'assistant' } },
})

export const coherePiece = (
  type: 'tool-call-start' | 'tool-call-delta',
  index: number | null | undefined,
  { id, name, args }: CallOnWire,
): JsonObject =>
  cohereEvent(type, {
    ...present({ index }),
    delta: {
      message: {
        tool_calls: present({ id, type: 'function', function: present({ name, arguments: args }) }),
      },
    },
  })

export const cohereEnd = (finish_reason: string, more: JsonObject = {}): JsonObject =>
  cohereEvent('message-end', {
    delta: { finish_reason, usage: { tokens: { input_tokens: 10, output_tokens: 5 } }, ...more },
  })

export const cohereText = (words: string): JsonObject[] => [
  cohereEvent('content-start', { index: 0, delta: { message: { content: { type: 'text', text: '' } } } }),
  ...halves(words).map((half) =>
    cohereEvent('content-delta', { index: 0, delta: { message: { content: { text: half } } } }),
  ),
  cohereEvent('content-end', { index: 0 }),
]

const cohereCall = ({ args, ...call }: CallOnWire, index: number): JsonObject[] => [
  coherePiece('tool-call-start', index, { ...call, args: typeof args === 'string' ? '' : (args ?? '') }),
  ...(typeof args === 'string' ? halves(args) : []).map((piece) =>
    coherePiece('tool-call-delta', index, { args: piece }),
  ),
  cohereEvent('tool-call-end', { index }),
]

export const cohere: Wire = {
  model: 'cohere:m',
  contentType: 'text/event-stream',
  words: { stop: 'COMPLETE', toolCalls: 'TOOL_CALL', length: 'MAX_TOKENS', filter: 'ERROR_TOXIC' },
  endMarks: 1,
  events: ({ text: words = '', calls, finish }: Turn) =>
    sse(
      cohereStart,
      ...(words === '' ? [] : cohereText(words)),
      ...(calls ?? []).flatMap(cohereCall),
      cohereEnd(finish ?? (calls ? 'TOOL_CALL' : 'COMPLETE')),
    ),
  sentCalls: (body) =>
    objects(body.messages).flatMap((message) =>
      objects(message.tool_calls).map((call) => {
        const called = call.function as JsonObject
        return { id: text(call.id), name: text(called.name), args: parsed(called.arguments) }
      }),
    ),
  sentResults: (body) =>
    objects(body.messages)
      .filter((message) => message.role === 'tool')
      .map((message) => ({ id: text(message.tool_call_id), text: text(message.content) })),
}
