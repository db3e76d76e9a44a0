import { z } from 'zod'
import {
  conversationOf,
  type Decoder,
  type Protocol,
  streamError,
  ToolCallAssembler,
  truncated,
  type WireError,
  wireIdsOf,
} from '../../providers/index.ts'
import type { ChatMessage, Delta, FinishReason, JsonObject, ModelProfile, Part } from '../../src/index.ts'

/*
 * A wire format that no other server has, with tools. A request is { model, rules, turns, functions }; the answer is a line of
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

const faultShape = z.object({ fault: z.object({ text: z.string(), kind: z.string().optional() }) })

const lineShape = z
  .object({
    say: z.string(),
    call: z.object({ slot: z.number(), ref: z.string(), fn: z.string(), args: z.string() }).partial(),
    tokens: z.object({ in: z.number(), out: z.number() }),
    over: z.string(),
  })
  .partial()

const reasons: Record<string, FinishReason> = { done: 'stop', calls: 'toolCalls', full: 'length' }

const decoder = (): Decoder => {
  const calls = new ToolCallAssembler()
  let isOver = false

  const finish = (word: string): Delta[] => {
    isOver = true
    const whole = calls.finish().map((call): Delta => ({ type: 'toolCall', call }))
    return [...whole, { type: 'finish', reason: reasons[word] ?? 'unspecified', raw: word }]
  }
  return {
    // A line that is not what it should be throws, and the engine reports it as an event that could not be read.
    push({ data }) {
      const line: unknown = JSON.parse(data)
      const fault = error(line)
      if (fault) return [{ type: 'error', error: streamError(fault) }]
      const { say = '', call, tokens, over } = lineShape.parse(line)
      const deltas: Delta[] = []
      if (say !== '') deltas.push({ type: 'text', text: say })
      if (call) {
        const { slot: index, ref: id, fn: name, args } = call
        deltas.push(calls.add({ index, id, name, arguments: args }))
      }
      if (tokens) {
        deltas.push({ type: 'usage', usage: { inputTokens: tokens.in, outputTokens: tokens.out } })
      }
      return over === undefined ? deltas : [...deltas, ...finish(over)]
    },
    end: () => (isOver ? [] : [{ type: 'error', error: truncated('the last line') }]),
  }
}

const error = (body: unknown): WireError | undefined => {
  const { data } = faultShape.safeParse(body)
  return data && { message: data.fault.text, ...(data.fault.kind && { code: data.fault.kind }) }
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
