import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { FinishReason } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { type AssemblyEnd, ToolCallAssembler } from '../wire/toolCallAssembler.ts'
import { arrayAt, numberAt, objectAt, stringAt } from '../wire/wireJson.ts'
import { callDeltas } from '../wire/withheldCall.ts'
import { type ContentSink, readContent } from './content.ts'
import { imagePart, SpokenAnswer } from './generatedMedia.ts'
import { reasoningText } from './reasoning.ts'
import type { Answer } from './replay.ts'
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
    if (citations && citations.length > 0) this.#tell({ citations })
    this.#readServerTools(delta)
    this.#readCalls(delta)
  }

  readText(text: string): void {
    if (text === '') return
    if (this.#splitter) this.#emit(this.#splitter.split(text))
    else this.deltas.push({ type: 'text', text })
  }

  /** Everything that was held back, once the answer is whole. */
  close(): void {
    this.#emit(this.#splitter?.flush() ?? [])
    const part = this.#spoken.part
    if (part) this.deltas.push({ type: 'part', part })
    const { transcript } = this.#spoken
    if (transcript !== '') this.#tell({ transcript })
    if (this.#serverTools.size > 0) this.#tell({ serverTools: [...this.#serverTools.values()] })
    if (this.refusal !== '') this.#tell({ refusal: this.refusal })
  }

  get hasCalls(): boolean {
    return !this.#calls.isEmpty
  }

  /** The answer of a stream that ended properly, for this reason. */
  finish(reason: FinishReason, end: AssemblyEnd): Answer {
    const calls = this.#calls.finish(end)
    for (const delta of callDeltas(calls, reason)) this.deltas.push(delta)
    return { calls, extras: this.#calls.extras(), hasThinking: this.#hasThinking }
  }

  /**
   * In a stream that did not, whole calls are passed on, but never run. What is passed on as a whole or not at all is
   * held back: half of it would count as shown, and prevent the retry.
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
    reference: (reference) => this.#tell({ citations: [reference] }),
  }

  #emit(deltas: Delta[]): void {
    for (const delta of deltas) {
      this.#hasThinking ||= delta.type === 'thinking'
      this.deltas.push(delta)
    }
  }

  #tell(metadata: JsonObject): void {
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
      const called = objectAt(call, 'function') ?? objectAt(call, 'custom')
      const piece = {
        index: numberAt(call, 'index'),
        id: stringAt(call, 'id'),
        name: stringAt(called, 'name'),
        arguments: called?.arguments ?? called?.input,
        // Google's compatible endpoint signs its calls here.
        extra: objectAt(call, 'extra_content'),
        isSibling,
      }
      this.deltas.push(this.#calls.add(piece))
      isSibling = true
    }
    // How calls looked before there were tools: one of them, without an id.
    const legacy = objectAt(delta, 'function_call')
    if (legacy) {
      const piece = { index: 0, name: stringAt(legacy, 'name'), arguments: legacy.arguments }
      this.deltas.push(this.#calls.add(piece))
    }
  }
}
