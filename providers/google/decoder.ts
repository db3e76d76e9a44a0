import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject, ownValue } from '../../src/messages/json.ts'
import type { FinishReason } from '../../src/messages/result.ts'
import type { Delta } from '../../src/model/delta.ts'
import { callDeltas, toolCallDelta, truncated } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { arrayAt, BadWireJson, hasOnly, objectAt, stringAt } from '../wire/json.ts'
import type { Decoder, WireEvent } from '../wire/protocol.ts'
import {
  blockOf,
  chunksIn,
  firstCandidate,
  GoogleUsage,
  mediaOf,
  Sources,
  serverToolOf,
  spokenIn,
} from './chunk.ts'
import { googleStreamError } from './error.ts'
import { FunctionCalls } from './functionCalls.ts'
import { PartRecorder } from './replay.ts'

/**
 * Reads a stream of GenerateContentResponse chunks.
 *
 * Invariant: nothing is final before the body ends. `finishReason` may come early, on an empty chunk, or change, so
 * the last one counts and everything after it is still read. Some servers send one with every chunk: where the
 * connection broke, it counts only if it came after the content, in a chunk without any.
 */
export class GoogleDecoder implements Decoder {
  readonly #provider: string
  readonly #calls = new FunctionCalls()
  readonly #parts = new PartRecorder()
  readonly #sources = new Sources()
  #media = 0
  #transcript = ''
  #hasAnswer = false
  #hasContent = false
  #hasResponseId = false
  #finishReason: string | undefined
  /** The last chunk brought content, so that more might have followed. */
  #isWriting = false
  #finishMessage = ''
  /** Set where the answer is longer than one response: the next request brings it back. */
  #continuationToken: string | undefined
  #block: JsonObject | undefined
  readonly #usage = new GoogleUsage()
  #closed = false

  constructor(provider: string) {
    this.#provider = provider
  }

  push(event: WireEvent): readonly Delta[] {
    if (this.#closed) return []
    const chunks = chunksIn(event.data)
    if (chunks instanceof BadWireJson) return this.#fail(chunks.error)
    const deltas: Delta[] = []
    for (const chunk of chunks) {
      const error = hasOnly(chunk, answerFields) ? undefined : googleStreamError(chunk)
      if (error) return [...deltas, ...this.#fail(error)]
      this.#chunk(chunk, deltas)
    }
    return deltas
  }

  readDone(): readonly Delta[] {
    const usage = this.#usage.take()
    return usage ? [{ type: 'usage', usage }] : []
  }

  end(isBroken = false): readonly Delta[] {
    if (this.#closed) return []
    const raw = this.#finishReason
    if (isBroken && this.#isWriting) return this.#fail(truncated('the end of the answer'))
    // A whole answer that says nothing at all, not even why, is empty rather than cut.
    const isCut = this.#hasContent || !this.#hasAnswer || isBroken
    if (raw === undefined && !this.#block && isCut) return this.#fail(truncated('a finish reason'))
    this.#closed = true
    const calls = this.#calls.all()
    const reason = reasonOf(raw, this.#block !== undefined, calls.length > 0)
    const token = raw === 'CONTINUATION' && calls.length === 0 ? this.#continuationToken : undefined
    const skeleton = this.#parts.skeleton(this.#calls.answered(), token !== undefined)
    const sources = this.#sources.rest(reason === 'contentFilter')
    return [
      ...this.readDone(),
      ...callDeltas(calls, reason),
      ...(sources ? [metadata(sources)] : []),
      ...(this.#transcript === '' ? [] : [metadata({ transcript: this.#transcript })]),
      ...(this.#block ? [metadata(this.#block)] : []),
      ...(!plainEnds.has(reason) && this.#finishMessage !== ''
        ? [metadata({ finishMessage: this.#finishMessage })]
        : []),
      ...(skeleton ? [opaque({ provider: this.#provider, parts: skeleton, ...continuing(token) })] : []),
      token === undefined
        ? { type: 'finish', reason, ...(raw !== undefined && { raw }) }
        : { type: 'finish', reason: 'unspecified', raw: 'CONTINUATION', pause: true },
    ]
  }

  #chunk(chunk: JsonObject, deltas: Delta[]): void {
    this.#hasAnswer ||= isAnswer(chunk)
    const id = stringAt(chunk, 'responseId')
    if (id && !this.#hasResponseId) {
      this.#hasResponseId = true
      deltas.push({ type: 'response', id })
    }
    const candidate = firstCandidate(chunk)
    const known = deltas.length
    if (candidate) this.#candidate(candidate, deltas)
    this.#isWriting = deltas.length > known
    this.#block = blockOf(objectAt(chunk, 'promptFeedback')) ?? this.#block
    const usage = objectAt(chunk, 'usageMetadata')
    if (usage) this.#usage.read(usage)
  }

  #candidate(candidate: JsonObject, deltas: Delta[]): void {
    for (const part of arrayAt(objectAt(candidate, 'content'), 'parts') ?? []) {
      if (isJsonObject(part)) this.#part(part, deltas)
    }
    if (hasOnly(candidate, contentFields)) return
    const sources = this.#sources.read(candidate)
    if (sources) deltas.push(metadata(sources))
    this.#finishReason = stringAt(candidate, 'finishReason') || this.#finishReason
    this.#finishMessage = stringAt(candidate, 'finishMessage') ?? this.#finishMessage
    this.#continuationToken = stringAt(candidate, 'continuationToken') || this.#continuationToken
  }

  #part(part: JsonObject, deltas: Delta[]): void {
    if (hasOnly(part, textFields)) {
      this.#text(stringAt(part, 'text') ?? '', undefined, deltas)
      return
    }
    const signature = stringAt(part, 'thoughtSignature') || undefined
    const call = objectAt(part, 'functionCall')
    if (call) {
      this.#call(call, signature, deltas)
      return
    }
    const text = stringAt(part, 'text') ?? ''
    if (ownValue(part, 'thought') === true) {
      if (text !== '') deltas.push({ type: 'thinking', text })
      if (signature !== undefined) this.#parts.raw(part)
      this.#hasContent ||= text !== ''
      return
    }
    const serverTool = serverToolOf(part) ?? this.#calls.answer(part)
    if (serverTool) {
      this.#hasContent = true
      this.#parts.raw(part)
      deltas.push(metadata({ serverTools: [serverTool] }))
      return
    }
    this.#transcript += spokenIn(part)
    const media = mediaOf(part)
    if (media) {
      this.#hasContent = true
      this.#parts.media(this.#media++, signature)
      deltas.push(media)
      return
    }
    this.#text(text, signature, deltas)
  }

  #text(text: string, signature: string | undefined, deltas: Delta[]): void {
    this.#hasContent ||= text !== ''
    this.#parts.text(text.length, signature)
    if (text !== '') deltas.push({ type: 'text', text })
  }

  #call(call: JsonObject, signature: string | undefined, deltas: Delta[]): void {
    const delta = this.#calls.add(call)
    if (!delta) return
    this.#hasContent = true
    this.#parts.call(delta.index, signature, delta.id !== undefined)
    deltas.push(delta)
  }

  #fail(error: ErrorData): Delta[] {
    this.#closed = true
    const raw = this.#finishReason
    return [
      ...this.readDone(),
      ...this.#calls.complete().map(toolCallDelta),
      { type: 'error', error, ...(raw !== undefined && { raw }) },
    ]
  }
}

// Nearly all of an answer is chunks that bring no error, candidates with content alone, and parts with text alone: no
// need to look for more there.
const answerFields = new Set(['candidates', 'usageMetadata', 'modelVersion', 'responseId'])
const contentFields = new Set(['content', 'index'])
const textFields = new Set(['text'])

/** True for an answer: it may be empty, but it says something about itself, unlike any other JSON. */
const isAnswer = (chunk: JsonObject): boolean =>
  Object.hasOwn(chunk, 'promptFeedback') || Object.keys(chunk).some((field) => answerFields.has(field))

/** A prompt that was blocked has no answer, even if its response ends with an ordinary word. */
const reasonOf = (raw: string | undefined, isBlocked: boolean, hasCalls: boolean): FinishReason => {
  const reason = endReason(raw, hasCalls)
  return isBlocked && (reason === 'stop' || reason === 'unspecified') ? 'contentFilter' : reason
}

const plainEnds: ReadonlySet<string> = new Set(['stop', 'length', 'toolCalls'])

const continuing = (token: string | undefined): JsonObject =>
  token === undefined ? {} : { continuationToken: token }

const metadata = (items: JsonObject): Delta => ({ type: 'metadata', metadata: items })
const opaque = (data: JsonObject): Delta => ({ type: 'opaque', protocol: 'google', data })
