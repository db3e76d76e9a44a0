import { joinBase64 } from '../../src/messages/base64.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { DataPart, LinkPart } from '../../src/messages/messages.ts'
import type { FinishReason } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { callDeltas } from '../wire/decoder.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/json.ts'
import { ToolCallAssembler, type ToolCallPiece } from '../wire/toolCallAssembler.ts'
import { type Answer, reasoningText } from './replay.ts'
import { ThinkSplitter } from './thinkSplitter.ts'

/** Reads the model's message from its deltas. The result waits in `deltas` until it is taken. */
export class AnswerReader {
  deltas: Delta[] = []
  refusal = ''
  readonly #calls = new ToolCallAssembler()
  readonly #spoken = new SpokenAnswer()
  readonly #serverTools = new Map<number, JsonObject>()
  readonly #splitter: ThinkSplitter | undefined
  #hasThinking = false

  constructor(splitThinkTags: boolean | 'opened') {
    if (splitThinkTags !== false) this.#splitter = new ThinkSplitter(splitThinkTags === 'opened')
  }

  read(delta: JsonObject): void {
    this.#sink.thinking(reasoningText(delta))
    readContent(delta.content, this.#sink)
    this.#sink.refusal(stringAt(delta, 'refusal') ?? '')
    // OpenRouter's image models send what they made beside the text.
    for (const image of arrayAt(delta, 'images') ?? []) if (isJsonObject(image)) this.#sink.image(image)
    const audio = objectAt(delta, 'audio')
    if (audio) {
      this.#spoken.add(audio)
      this.deltas.push({ type: 'progress' })
    }
    const citations = arrayAt(delta, 'annotations')
    if (citations && citations.length > 0) this.#report({ citations })
    this.#readServerTools(delta)
    this.#readCalls(delta)
  }

  readText(text: string): void {
    if (text === '') return
    if (this.#splitter) this.#emit(this.#splitter.split(text))
    else this.deltas.push({ type: 'text', text })
  }

  readPiece(piece: ToolCallPiece): void {
    this.deltas.push(this.#calls.add(piece))
  }

  /** Everything that was held back, once the answer is whole. */
  close(): void {
    this.#emit(this.#splitter?.flush() ?? [])
    const part = this.#spoken.part
    if (part) this.deltas.push({ type: 'part', part })
    const { transcript } = this.#spoken
    if (transcript !== '') this.#report({ transcript })
    if (this.#serverTools.size > 0) this.#report({ serverTools: [...this.#serverTools.values()] })
    if (this.refusal !== '') this.#report({ refusal: this.refusal })
  }

  get hasCalls(): boolean {
    return !this.#calls.isEmpty
  }

  /** Gives the answer of a stream that ended properly, for this reason. */
  finish(reason: FinishReason, isCut: boolean): Answer {
    const calls = this.#calls.finish({ isCut })
    for (const delta of callDeltas(calls, reason)) this.deltas.push(delta)
    return {
      calls,
      extras: this.#calls.extras(),
      textCalls: this.#calls.textCalls(),
      hasThinking: this.#hasThinking,
    }
  }

  /**
   * Ends a stream that broke: whole calls are passed on, but never run. Everything that is only passed on whole is held
   * back: half of it would count as shown, and prevent the retry.
   */
  abandon(): void {
    this.#emit(this.#splitter?.flush() ?? [])
    for (const call of this.#calls.finishWhole()) this.deltas.push({ type: 'toolCall', call })
  }

  readonly #sink: ContentSink = {
    text: (text) => this.readText(text),
    thinking: (text) => {
      if (text !== '') this.#emit([{ type: 'thinking', text }])
    },
    refusal: (text) => {
      if (text === '') return
      this.refusal += text
      this.deltas.push({ type: 'progress' })
    },
    image: (image) => {
      const part = imagePart(image)
      if (part) this.deltas.push({ type: 'part', part })
    },
    reference: (reference) => this.#report({ citations: [reference] }),
  }

  #emit(deltas: Delta[]): void {
    for (const delta of deltas) {
      this.#hasThinking ||= delta.type === 'thinking'
      this.deltas.push(delta)
    }
  }

  #report(metadata: JsonObject): void {
    this.deltas.push({ type: 'metadata', metadata })
  }

  /** Groq reports each tool it ran twice: when it starts, and with the output. The latest report counts. */
  #readServerTools(delta: JsonObject): void {
    for (const tool of arrayAt(delta, 'executed_tools') ?? []) {
      if (!isJsonObject(tool)) continue
      this.#serverTools.set(numberAt(tool, 'index') ?? this.#serverTools.size, tool)
      this.deltas.push({ type: 'progress' })
    }
  }

  #readCalls(delta: JsonObject): void {
    let isSibling = false
    for (const call of arrayAt(delta, 'tool_calls') ?? []) {
      if (!isJsonObject(call)) continue
      const custom = objectAt(call, 'custom')
      const called = objectAt(call, 'function') ?? custom
      const piece = {
        index: numberAt(call, 'index'),
        id: stringAt(call, 'id'),
        name: stringAt(called, 'name'),
        arguments: called?.arguments ?? called?.input,
        isText: called !== undefined && called === custom,
        // Google's compatible endpoint signs its calls here.
        extra: objectAt(call, 'extra_content'),
        isSibling,
      }
      this.readPiece(piece)
      isSibling = true
    }
    // How calls looked before there were tools: one of them, without an id.
    const legacy = objectAt(delta, 'function_call')
    if (legacy) {
      this.readPiece({ index: 0, name: stringAt(legacy, 'name'), arguments: legacy.arguments })
    }
  }
}

/** The receiver of the parts of a message's content. */
type ContentSink = {
  text(text: string): void
  thinking(text: string): void
  refusal(text: string): void
  image(part: JsonObject): void
  reference(part: JsonObject): void
}

/** Reads `content`, which is a text, or a list of parts, or nothing. */
const readContent = (content: JsonValue | undefined, sink: ContentSink): void => {
  if (typeof content === 'string') sink.text(content)
  else if (Array.isArray(content)) for (const part of content) readPart(part, sink)
}

const readPart = (part: JsonValue, sink: ContentSink): void => {
  if (typeof part === 'string') sink.text(part)
  else if (isJsonObject(part)) partReaders.get(part.type)?.(part, sink)
}

const readText = (part: JsonObject, sink: ContentSink): void => sink.text(stringAt(part, 'text') ?? '')
const readThinking = (part: JsonObject, sink: ContentSink): void => sink.thinking(thinkingText(part))

const partReaders = new Map<JsonValue | undefined, (part: JsonObject, sink: ContentSink) => void>([
  ['text', readText],
  ['output_text', readText],
  // Mistral: a list of texts and references. Databricks calls it reasoning and lists summaries.
  ['thinking', readThinking],
  ['reasoning', readThinking],
  ['refusal', (part, sink) => sink.refusal(stringAt(part, 'refusal') ?? '')],
  ['image_url', (part, sink) => sink.image(part)],
  ['reference', (part, sink) => sink.reference(part)],
])

const thinkingText = (part: JsonObject): string => {
  const plain = stringAt(part, 'thinking') ?? stringAt(part, 'text')
  if (plain !== undefined) return plain
  let text = ''
  for (const item of arrayAt(part, 'thinking') ?? arrayAt(part, 'summary') ?? []) {
    if (isJsonObject(item)) text += stringAt(item, 'text') ?? ''
  }
  return text
}

/** An image the model made: `{ image_url: { url } }`, inline or as a link. */
export const imagePart = (image: JsonObject): DataPart | LinkPart | undefined => {
  const url = stringAt(objectAt(image, 'image_url'), 'url') ?? stringAt(image, 'image_url')
  if (!url) return undefined
  const comma = url.indexOf(',')
  const [mimeType, ...parameters] = url.slice('data:'.length, comma).split(';')
  if (url.startsWith('data:') && comma > 0 && mimeType && parameters.at(-1) === 'base64') {
    return { type: 'data', mimeType, data: url.slice(comma + 1) }
  }
  return url.startsWith('data:') ? undefined : { type: 'link', url }
}

/** Spoken answers: base64 pieces of one recording, and the words beside it. */
class SpokenAnswer {
  transcript = ''
  readonly #pieces: string[] = []

  add(audio: JsonObject): void {
    this.transcript += stringAt(audio, 'transcript') ?? ''
    const data = stringAt(audio, 'data')
    if (data) this.#pieces.push(data)
  }

  get part(): DataPart | undefined {
    if (this.#pieces.length === 0) return undefined
    // Streams carry PCM only.
    return { type: 'data', mimeType: 'audio/pcm', data: joinBase64(this.#pieces) }
  }
}
