import {
  BadWireJson,
  conversationOf,
  type Decoder,
  isJsonObject,
  numberAt,
  objectAt,
  type Protocol,
  parseWireObject,
  streamError,
  stringAt,
  ToolCallAssembler,
  truncated,
  type WireError,
  type WireEvent,
  wireIdsOf,
} from '../../providers/index.ts'
import type { ChatMessage, Delta, FinishReason, JsonObject, ModelProfile, Part } from '../../src/index.ts'

/*
 * A wire that nobody has heard of, with tools. A request is { model, rules, turns, functions }; the answer is a line of
 * JSON for each piece: { say }, { call: { slot, ref, fn, args } }, { tokens: { in, out } }, { fault: { text, kind } }, and
 * at last { over: 'done' | 'calls' | 'full' }.
 */

/** References are short here: ids of other providers get a substitute. */
const references = { pattern: /^r\d{1,6}$/, length: 8 }

const turnOf = (message: ChatMessage, refOf: (id: string) => string): JsonObject => ({
  by: message.role === 'user' ? 'person' : 'machine',
  items: message.parts.map((part) => itemOf(part, refOf)),
})

const itemOf = (part: Part, refOf: (id: string) => string): JsonObject => {
  switch (part.type) {
    case 'text':
      return { say: part.text }
    case 'toolCall':
      return { call: { ref: refOf(part.id), fn: part.name, args: JSON.stringify(part.arguments) } }
    case 'toolResult':
      return { outcome: { ref: refOf(part.id), value: part.result, failed: part.isError === true } }
    case 'data':
      return { file: { kind: part.mimeType, base64: part.data } }
    case 'link':
      return { say: part.url }
  }
}

const reasons: Record<string, FinishReason> = { done: 'stop', calls: 'toolCalls', full: 'length' }

const decoder = (): Decoder => {
  const calls = new ToolCallAssembler()
  let isOver = false

  const finish = (word: string): Delta[] => {
    isOver = true
    const whole = calls.finish().map((call): Delta => ({ type: 'toolCall', call }))
    return [...whole, { type: 'finish', reason: reasons[word] ?? 'unspecified', raw: word }]
  }
  const read = (line: JsonObject): Delta[] => {
    const fault = error(line)
    if (fault) return [{ type: 'error', error: streamError(fault) }]
    const [say, call, tokens, over] = [
      stringAt(line, 'say'),
      objectAt(line, 'call'),
      objectAt(line, 'tokens'),
      stringAt(line, 'over'),
    ]
    return [
      ...(say ? [{ type: 'text', text: say } as const] : []),
      ...(call
        ? [
            calls.add({
              index: numberAt(call, 'slot'),
              id: stringAt(call, 'ref'),
              name: stringAt(call, 'fn'),
              arguments: call.args,
            }),
          ]
        : []),
      ...(tokens ? [usageOf(tokens)] : []),
      ...(over === undefined ? [] : finish(over)),
    ]
  }
  return {
    push({ data }: WireEvent) {
      const line = parseWireObject(data)
      if (line instanceof BadWireJson) return [{ type: 'error', error: line.error }]
      return line ? read(line) : []
    },
    end: () => (isOver ? [] : [{ type: 'error', error: truncated('the last line') }]),
  }
}

const usageOf = (tokens: JsonObject): Delta => {
  const [inputTokens, outputTokens] = [numberAt(tokens, 'in'), numberAt(tokens, 'out')]
  return {
    type: 'usage',
    usage: {
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
    },
  }
}

const error = (body: unknown): WireError | undefined => {
  const fault = isJsonObject(body) ? objectAt(body, 'fault') : undefined
  const [text, kind] = [stringAt(fault, 'text'), stringAt(fault, 'kind')]
  return text === undefined ? undefined : { message: text, ...(kind !== undefined && { code: kind }) }
}

export const telegraph: Protocol = {
  name: 'telegraph',
  request({ messages, tools = [], providerOptions }, { model }) {
    const { system, turns } = conversationOf(messages)
    const refOf = wireIdsOf(messages, references)
    return {
      path: '/wire',
      body: {
        model,
        ...(system !== '' && { rules: system }),
        turns: turns.map((message) => turnOf(message, refOf)),
        functions: tools.map(({ name, description, inputSchema }) => ({
          fn: name,
          about: description,
          takes: inputSchema,
        })),
        ...providerOptions,
      },
    }
  },
  decoder,
  error,
}

export const telegraphProfile: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: false,
  schemaWithTools: false,
  thinking: false,
  attachments: { images: true, pdf: false, audio: false, links: true },
}
