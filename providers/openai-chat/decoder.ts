import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { FinishReason } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { openaiUsage, truncated } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { windowReached } from '../wire/error.ts'
import { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { Decoder, Target, WireEvent } from '../wire/protocol.ts'
import type { ToolCallPiece } from '../wire/toolCallAssembler.ts'
import { AnswerReader } from './answerReader.ts'
import { chatStreamError, chunkError, possibleError } from './error.ts'
import { ChunkTemplate, plainDelta, plainPiece, plainText } from './fastPath.ts'
import type { Replay } from './replay.ts'

type ChatDecoderOptions = {
  protocol: string
  target: Target
  replay: Replay
  splitThinkTags?: boolean | 'opened' | undefined
}

/**
 * Reads a stream of chat completion chunks.
 *
 * `finish_reason` is only remembered: text, calls and usage may still follow it. The stream is over at `[DONE]`, or
 * at its end if a finish reason came. Gemini behind OpenRouter sends one with every chunk: where that shows, or where the
 * connection broke, it counts only if it came after the content, in a chunk without any.
 */
export class ChatDecoder implements Decoder {
  readonly #options: ChatDecoderOptions
  readonly #answer: AnswerReader
  readonly #texts = new ChunkTemplate('content', (chunk) => plainText(plainDelta(chunk)))
  readonly #pieces = new ChunkTemplate('arguments', (chunk) => plainPiece(plainDelta(chunk))?.arguments)
  /** The index of the call that the last chunk had a piece of, if that brought arguments alone. */
  #pieceIndex: number | undefined
  /** The number of items reported of each list: Perplexity and xAI repeat their sources in every chunk. */
  readonly #reported = new Map<string, number>()
  #hasId = false
  #hasDelta = false
  #raw: string | undefined
  #outputTokens: number | undefined
  #hasContent = false
  #isComplete = false
  /** The answer was not streamed. */
  #isWhole = false
  /** The answer is complete, and the last chunk brought no content. */
  #isSettled = false
  /** Content came after a finish reason. */
  #isEager = false
  #failure: ErrorData | undefined
  #suspicion: ErrorData | undefined
  #isOver = false

  constructor(options: ChatDecoderOptions) {
    this.#options = options
    this.#answer = new AnswerReader(options.splitThinkTags ?? false)
  }

  push({ event, data }: WireEvent): readonly Delta[] {
    if (this.#isOver) return []
    const short = event === 'error' ? undefined : this.#readShort(data)
    if (short) return short
    if (isEndMark(data)) return this.#failure ? this.#fail(this.#failure) : this.#finish()
    const chunk = parseWireObject(data)
    if (chunk instanceof BadWireJson) {
      return this.#fail(event === 'error' ? chatStreamError({ error: data }) : chunk.error)
    }
    if (!chunk) return []
    const plain = this.#hasId && event !== 'error' ? this.#readPlain(data, plainDelta(chunk)) : undefined
    if (plain) return plain
    this.#pieceIndex = undefined
    const hasUsage = this.#readChunk(chunk)
    const error = chunkError(chunk, event)
    this.#failure ??= error
    this.#suspicion ??= possibleError(chunk)
    // OpenRouter hangs an error on an ordinary chunk and sends the usage after it.
    const isOrdinary = (arrayAt(chunk, 'choices')?.length ?? 0) > 0
    const isLastWord = hasUsage || (error !== undefined && !isOrdinary)
    return this.#failure && isLastWord ? this.#fail(this.#failure) : this.#take()
  }

  end(isBroken = false): readonly Delta[] {
    if (this.#isOver) return []
    if (this.#failure) return this.#fail(this.#failure)
    if (isBroken || this.#isEager ? this.#isSettled : this.#isComplete) return this.#finish()
    return this.#fail(this.#suspicion ?? truncated('a finish_reason or [DONE]'))
  }

  /** Reads a chunk that is like the one before it, but for its text. */
  #readShort(data: string): Delta[] | undefined {
    const text = this.#texts.read(data)
    if (text !== undefined) return this.#readText(text)
    const index = this.#pieceIndex
    const piece = index === undefined ? undefined : this.#pieces.read(data)
    return index === undefined || piece === undefined
      ? undefined
      : this.#readPiece({ index, arguments: piece })
  }

  /** Reads a chunk that brings a text, or a piece of one call, and nothing else. */
  #readPlain(data: string, delta: JsonObject | undefined): Delta[] | undefined {
    const text = plainText(delta)
    if (text !== undefined) {
      this.#pieceIndex = undefined
      this.#texts.learn(data, text)
      return this.#readText(text)
    }
    const piece = plainPiece(delta)
    if (!piece) return undefined
    const isMore = piece.id === '' && piece.name === ''
    // Short arguments come in two or three pieces: only more of them are worth a template.
    if (isMore && this.#pieceIndex === piece.index) this.#pieces.learn(data, piece.arguments)
    else this.#pieces.forget()
    this.#pieceIndex = isMore ? piece.index : undefined
    return this.#readPiece(piece)
  }

  /** The text of a chunk that brings nothing else. */
  #readText(content: string): Delta[] {
    this.#noteContent(content !== '')
    this.#options.replay.read({ content })
    this.#answer.readText(content)
    return this.#take()
  }

  #readPiece(piece: ToolCallPiece): Delta[] {
    this.#noteContent(true)
    this.#answer.readPiece(piece)
    return this.#take()
  }

  #noteContent(hasContent: boolean): void {
    this.#hasDelta = true
    this.#isSettled = this.#isComplete && !hasContent
    this.#isEager ||= this.#isComplete && hasContent
    this.#hasContent ||= hasContent
  }

  /** Reads a chunk; true if it brought usage. */
  #readChunk(chunk: JsonObject): boolean {
    const id = stringAt(chunk, 'id')
    if (id && !this.#hasId) {
      this.#hasId = true
      this.#answer.deltas.push({ type: 'response', id })
    }
    const known = this.#answer.deltas.length
    const wasComplete = this.#isComplete
    for (const choice of arrayAt(chunk, 'choices') ?? []) {
      if (isJsonObject(choice) && (numberAt(choice, 'index') ?? 0) === 0) this.#readChoice(choice)
    }
    const hasContent = this.#answer.deltas.length > known
    this.#isSettled = this.#isComplete && !hasContent
    this.#isEager ||= wasComplete && hasContent
    this.#hasContent ||= hasContent
    this.#reportNew('citations', arrayAt(chunk, 'citations'))
    this.#reportNew('searchResults', arrayAt(chunk, 'search_results'))
    const moderation = objectAt(chunk, 'moderation')
    if (moderation) this.#reportNew('moderation', [moderation])
    const usage = openaiUsage(usageIn(chunk))
    if (usage) this.#answer.deltas.push({ type: 'usage', usage })
    this.#outputTokens = usage?.outputTokens ?? this.#outputTokens
    return usage !== undefined
  }

  #readChoice(choice: JsonObject): void {
    const delta = objectAt(choice, 'delta')
    const message = objectAt(choice, 'message')
    const reason = stringAt(choice, 'finish_reason')
    const known = this.#answer.deltas.length
    const hadDelta = this.#hasDelta
    if (delta) this.#readDelta(delta)
    // A whole message is an answer that was not streamed; after deltas it only repeats them. Perplexity puts an empty delta
    // beside it.
    const isEmpty = !this.#hasContent && this.#answer.deltas.length === known
    if (message && (delta ? reason && isEmpty && !hadDelta : !hadDelta)) {
      this.#readDelta(message)
      this.#isComplete = true
      this.#isWhole = true
    }
    if (reason) {
      this.#raw = reason
      this.#isComplete = true
    }
  }

  #readDelta(delta: JsonObject): void {
    this.#hasDelta = true
    this.#options.replay.read(delta)
    this.#answer.read(delta)
  }

  #reportNew(key: string, items: JsonValue[] | undefined): void {
    const reported = this.#reported.get(key) ?? 0
    if (!items || items.length <= reported) return
    this.#reported.set(key, items.length)
    this.#answer.deltas.push({ type: 'metadata', metadata: { [key]: items.slice(reported) } })
  }

  #finish(): Delta[] {
    const reason = this.#answer.refusal === '' ? endReason(this.#raw, this.#answer.hasCalls) : 'contentFilter'
    if (this.#isOverflow(reason)) return this.#fail(windowReached(this.#raw ?? reason))
    this.#answer.close()
    // Without a proper finish reason, a call without arguments may have been cut before them.
    const hasWord = this.#raw !== undefined || this.#isWhole
    const answer = this.#answer.finish(reason, !hasWord || reason === 'length')
    const { protocol, target, replay } = this.#options
    const data = replay.data(answer)
    if (Object.keys(data).length > 0) {
      const { provider, model } = target
      this.#answer.deltas.push({ type: 'opaque', protocol, data: { provider, model, ...data } })
    }
    return this.#conclude({ type: 'finish', reason, ...this.#rawWord() })
  }

  /**
   * z.ai has a finish reason for a full window; others cut the input until it fills the window, and no token is left
   * for output.
   */
  #isOverflow(reason: FinishReason): boolean {
    return (
      this.#raw === 'model_context_window_exceeded' ||
      (reason === 'length' && this.#outputTokens === 0 && !this.#hasContent)
    )
  }

  #fail(error: ErrorData): Delta[] {
    this.#answer.abandon()
    return this.#conclude({ type: 'error', error, ...this.#rawWord() })
  }

  #rawWord(): { raw?: string } {
    return this.#raw === undefined ? {} : { raw: this.#raw }
  }

  #conclude(last: Delta): Delta[] {
    this.#isOver = true
    this.#answer.deltas.push(last)
    return this.#take()
  }

  #take(): Delta[] {
    const { deltas } = this.#answer
    this.#answer.deltas = []
    return deltas
  }
}

/** Recognises the end mark. Chunks begin with a brace, and are spared the search. */
const isEndMark = (data: string): boolean => !data.startsWith('{') && data.trimStart().startsWith('[DONE]')

/** The counts of a chunk: Groq has them in its own corner, Kimi in the last choice. */
const usageIn = (chunk: JsonObject): JsonObject | undefined => {
  const last = arrayAt(chunk, 'choices')?.findLast(isJsonObject)
  return objectAt(chunk, 'usage') ?? objectAt(objectAt(chunk, 'x_groq'), 'usage') ?? objectAt(last, 'usage')
}
