import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { callDeltas, toolCallDelta, truncated, usageFrom } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { streamError, windowReached } from '../wire/error.ts'
import { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { Decoder, Target, WireEvent } from '../wire/protocol.ts'
import { ToolCallAssembler } from '../wire/toolCallAssembler.ts'
import { converseError } from './error.ts'
import { type AnswerBlock, replayOf } from './replay.ts'

/**
 * Reads the events of ConverseStream.
 *
 * `messageStop` says why the answer ended, and `metadata` brings the counts after it: the answer is over when both are
 * there, or when the stream ends after the first. Text and reasoning begin with their first delta, calls with a start.
 */
export class ConverseDecoder implements Decoder {
  readonly #target: Target
  readonly #calls = new ToolCallAssembler()
  readonly #blocks: AnswerBlock[] = []
  readonly #atIndex = new Map<number, AnswerBlock>()
  /** Tools that Amazon ran itself, and their results, by the index of their block. */
  readonly #serverTools = new Map<number, JsonObject>()
  /** Images that the model makes: their format, and the pieces of their bytes. */
  readonly #imageFormats = new Map<number, string>()
  /** A piece of one block came after a piece of a later one: lengths no longer show the order. */
  #isInterleaved = false
  #stopReason: string | undefined
  #hasCounts = false
  #isOver = false

  constructor(target: Target) {
    this.#target = target
  }

  push({ event, data }: WireEvent): readonly Delta[] {
    if (this.#isOver) return []
    const content = parseWireObject(data)
    if (content === undefined) return []
    if (content instanceof BadWireJson) return this.#fail(content.error)
    // A gateway that speaks JSON names the event by its one field, as the API's documentation does.
    const name = event || Object.keys(content).find((key) => eventNames.has(key))
    const own = name === undefined ? undefined : (objectAt(content, name) ?? content)
    return own && name !== undefined ? this.#read(name, own) : this.#readWhole(content)
  }

  end(): readonly Delta[] {
    if (this.#isOver) return []
    return this.#stopReason === undefined ? this.#fail(truncated('the messageStop event')) : this.#finish()
  }

  #read(name: string, content: JsonObject): readonly Delta[] {
    const index = numberAt(content, 'contentBlockIndex') ?? 0
    switch (name) {
      case 'contentBlockStart':
        return this.#start(index, objectAt(content, 'start') ?? {})
      case 'contentBlockDelta':
        return this.#grow(index, objectAt(content, 'delta') ?? {})
      case 'contentBlockStop':
        return this.#close(index)
      case 'messageStop':
        this.#stopReason = stringAt(content, 'stopReason') ?? ''
        return this.#hasCounts ? this.#finish() : []
      case 'metadata':
        return this.#count(content)
      case 'error':
        return this.#fail(streamError(converseError(content) ?? { message: JSON.stringify(content) }))
      default:
        return []
    }
  }

  #start(index: number, start: JsonObject): Delta[] {
    const call = objectAt(start, 'toolUse') ?? objectAt(start, 'toolResult')
    const image = objectAt(start, 'image')
    if (image) this.#imageFormats.set(index, stringAt(image, 'format') ?? 'png')
    if (!call) return []
    if ('toolResult' in start || stringAt(call, 'type') === 'server_tool_use') {
      this.#serverTools.set(index, { ...call })
      return [{ type: 'progress' }]
    }
    const id = stringAt(call, 'toolUseId')
    // A whole input at the start is what a gateway makes of an answer that was not streamed.
    return [this.#piece(index, { id, name: stringAt(call, 'name'), arguments: call.input })]
  }

  #grow(index: number, delta: JsonObject): Delta[] {
    const text = stringAt(delta, 'text')
    if (text !== undefined) return this.#text(index, text)
    const reasoning = objectAt(delta, 'reasoningContent')
    if (reasoning) return this.#reason(index, reasoning)
    const citation = objectAt(delta, 'citation')
    if (citation) return [{ type: 'metadata', metadata: { citations: [citation] } }]
    const bytes = stringAt(objectAt(objectAt(delta, 'image'), 'source'), 'bytes')
    if (bytes) return [this.#image(index, bytes)]
    const tool = this.#serverTools.get(index)
    if (tool) return this.#growServerTool(tool, delta)
    const call = objectAt(delta, 'toolUse')
    return call ? [this.#piece(index, { arguments: call.input })] : []
  }

  #text(index: number, text: string): Delta[] {
    if (text === '') return []
    const block = this.#block(index, 'text', () => ({ kind: 'text', length: 0 }))
    if (block) block.length += text.length
    return [{ type: 'text', text }]
  }

  #reason(index: number, reasoning: JsonObject): Delta[] {
    // The whole block of an answer that was not streamed has its text one level below.
    const { text, signature, redactedContent } = { ...reasoning, ...objectAt(reasoning, 'reasoningText') }
    const block = this.#block(index, 'reasoning', () => ({
      kind: 'reasoning',
      length: 0,
      signature: '',
      redacted: [],
    }))
    if (block && typeof signature === 'string') block.signature += signature
    if (block && typeof redactedContent === 'string') block.redacted.push(redactedContent)
    if (typeof text !== 'string' || text === '') return [{ type: 'progress' }]
    if (block) block.length += text.length
    return [{ type: 'thinking', text }]
  }

  /** The block at an index, which its first piece opens. */
  #block<Kind extends AnswerBlock['kind']>(
    index: number,
    kind: Kind,
    open: () => Extract<AnswerBlock, { kind: Kind }>,
  ): Extract<AnswerBlock, { kind: Kind }> | undefined {
    const known = this.#atIndex.get(index)
    if (known) {
      this.#isInterleaved ||= known !== this.#blocks.at(-1)
      return isOfKind(known, kind) ? known : undefined
    }
    const block = open()
    this.#blocks.push(block)
    this.#atIndex.set(index, block)
    return block
  }

  #piece(
    index: number,
    piece: { id?: string | undefined; name?: string | undefined; arguments: unknown },
  ): Delta {
    const delta = this.#calls.add({ index, ...piece })
    if (delta.type === 'toolDelta') this.#block(index, 'call', () => ({ kind: 'call', order: delta.index }))
    return delta
  }

  #image(index: number, data: string): Delta {
    const format = this.#imageFormats.get(index) ?? 'png'
    return { type: 'part', part: { type: 'data', mimeType: `image/${format}`, data } }
  }

  #growServerTool(tool: JsonObject, delta: JsonObject): Delta[] {
    const input = stringAt(objectAt(delta, 'toolUse'), 'input')
    if (input !== undefined) tool.input = `${stringAt(tool, 'input') ?? ''}${input}`
    const content = arrayAt(delta, 'toolResult')
    if (content) tool.content = [...(arrayAt(tool, 'content') ?? []), ...content]
    return [{ type: 'progress' }]
  }

  #close(index: number): Delta[] {
    this.#calls.close(index)
    const tool = this.#serverTools.get(index)
    return tool ? [{ type: 'metadata', metadata: { serverTools: [tool] } }] : []
  }

  #count(content: JsonObject): readonly Delta[] {
    const usage = usageOf(objectAt(content, 'usage'))
    const trace = objectAt(content, 'trace')
    this.#hasCounts = true
    return [
      ...(usage ? [{ type: 'usage', usage } as const] : []),
      // The words of a guardrail: why it stepped in.
      ...(trace ? [{ type: 'metadata', metadata: { trace } } as const] : []),
      ...(this.#stopReason === undefined ? [] : this.#finish()),
    ]
  }

  /** Reads the answer of a server that does not stream, or an error that came as one. */
  #readWhole(answer: JsonObject): readonly Delta[] {
    const message = objectAt(objectAt(answer, 'output'), 'message')
    if (!message) {
      const error = converseError(answer)
      return error ? this.#fail(streamError(error)) : []
    }
    const blocks = (arrayAt(message, 'content') ?? []).filter(isJsonObject)
    const deltas = blocks.flatMap((block, index) => [
      ...this.#start(index, block),
      ...('toolUse' in block ? [] : this.#grow(index, block)),
      ...this.#close(index),
    ])
    this.#stopReason = stringAt(answer, 'stopReason') ?? ''
    return [...deltas, ...this.#count(answer)]
  }

  #finish(): readonly Delta[] {
    const raw = this.#stopReason || undefined
    if (raw === 'model_context_window_exceeded') return this.#fail(windowReached(raw))
    this.#isOver = true
    const reason = endReason(raw, !this.#calls.isEmpty)
    const calls = this.#calls.finish({ isCut: reason === 'length', mustBeClosed: true })
    const replay = this.#isInterleaved ? undefined : replayOf(this.#blocks, this.#target)
    return [
      ...callDeltas(calls, reason),
      ...(replay ? [{ type: 'opaque', protocol: 'bedrock-converse', data: replay } as const] : []),
      { type: 'finish', reason, ...(raw !== undefined && { raw }) },
    ]
  }

  #fail(error: ErrorData): Delta[] {
    this.#isOver = true
    const raw = this.#stopReason || undefined
    return [
      ...this.#calls.finishWhole().map(toolCallDelta),
      { type: 'error', error, ...(raw !== undefined && { raw }) },
    ]
  }
}

const eventNames: ReadonlySet<string> = new Set([
  'messageStart',
  'contentBlockStart',
  'contentBlockDelta',
  'contentBlockStop',
  'messageStop',
  'metadata',
])

const isOfKind = <Kind extends AnswerBlock['kind']>(
  block: AnswerBlock,
  kind: Kind,
): block is Extract<AnswerBlock, { kind: Kind }> => block.kind === kind

/** Adds up the input: on the wire it is only what was neither read from the cache nor written to it. */
const usageOf = (usage: JsonObject | undefined): Usage | undefined => {
  const fresh = numberAt(usage, 'inputTokens')
  const cached = numberAt(usage, 'cacheReadInputTokens')
  const written = numberAt(usage, 'cacheWriteInputTokens')
  return usageFrom({
    input: fresh === undefined ? undefined : fresh + (cached ?? 0) + (written ?? 0),
    output: numberAt(usage, 'outputTokens'),
    cached,
    written,
  })
}
