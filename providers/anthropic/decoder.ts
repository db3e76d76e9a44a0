import type { ErrorData } from '../../src/messages/errors.ts'
import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { callDeltas, toolCallDelta, toolDelta, truncated, usageFrom } from '../wire/decoder.ts'
import { endReason } from '../wire/endWords.ts'
import { streamError, windowReached } from '../wire/error.ts'
import { arrayAt, BadWireJson, numberAt, objectAt, parseWireObject, stringAt } from '../wire/json.ts'
import type { Decoder, Target, WireEvent } from '../wire/protocol.ts'
import {
  type CallContent,
  type Content,
  growOpaque,
  hasArguments,
  isServerActivity,
  opaqueBlock,
  openContent,
  replayOf,
  type TextContent,
  wireCall,
} from './contentBlock.ts'
import { anthropicError } from './error.ts'

/** The provider paused in the middle of its own work and continues when it gets the turn back. */
const pauses = new Set(['pause_turn', 'compaction'])

/** Reads the events of one message. Several content blocks may be open at once; each knows its own index. */
export class AnthropicDecoder implements Decoder {
  readonly #target: Target
  readonly #contents: Content[] = []
  readonly #atIndex = new Map<number, Content>()
  readonly #calls: CallContent[] = []
  #lastText: TextContent | undefined
  /** Text of one block came after text of a later one: lengths no longer show the order of the blocks. */
  #isInterleaved = false
  #hasStarted = false
  #id = ''
  readonly #usage = new AnthropicUsage()
  #stopReason: string | undefined
  #refusal = ''
  #refusalCategory = ''
  #container: string | undefined
  #isDone = false

  constructor(target: Target) {
    this.#target = target
  }

  push(event: WireEvent): readonly Delta[] {
    // Gateways borrow the end mark of another protocol; this one ends with `message_stop`.
    if (this.#isDone || event.data.startsWith('[DONE]')) return []
    const data = parseWireObject(event.data)
    if (data instanceof BadWireJson) return this.#fail(data.error)
    if (!data) return []
    switch (stringAt(data, 'type') ?? event.event) {
      case 'content_block_delta':
        return this.#grow(numberAt(data, 'index'), objectAt(data, 'delta') ?? {})
      case 'content_block_start':
        return this.#open(numberAt(data, 'index'), objectAt(data, 'content_block') ?? {})
      case 'content_block_stop':
        return this.#close(this.#find(numberAt(data, 'index')))
      case 'message_start':
        return this.#begin(objectAt(data, 'message') ?? {})
      case 'message_delta':
        return this.#update(objectAt(data, 'delta') ?? {}, objectAt(data, 'usage'))
      case 'message_stop':
        return this.#finish()
      case 'message':
        if (this.#hasStarted) return this.#fail(secondMessage)
        return [...this.#start(data, true), ...this.#finish()]
      default: {
        const error = anthropicError(data)
        return error ? this.#fail(streamError(error)) : []
      }
    }
  }

  end(): readonly Delta[] {
    if (this.#isDone) return []
    // Some gateways leave `message_stop` out: once the stop reason is there, the answer is complete.
    return this.#stopReason === undefined ? this.#fail(truncated('message_stop')) : this.#finish()
  }

  /** Some gateways repeat the start of a message, under the same id, when its first counts are known. */
  #begin(message: JsonObject): Delta[] {
    if (!this.#hasStarted) return this.#start(message, false)
    if (this.#id === '' || stringAt(message, 'id') !== this.#id) return this.#fail(secondMessage)
    return this.#contents.length === 0
      ? this.#start(message, false)
      : this.#update({}, objectAt(message, 'usage'))
  }

  /** The message may already hold content, even all of it. */
  #start(message: JsonObject, isWhole: boolean): Delta[] {
    this.#hasStarted = true
    const id = stringAt(message, 'id') ?? ''
    const blocks = (arrayAt(message, 'content') ?? []).filter(isJsonObject)
    const deltas: Delta[] = []
    if (id !== '' && this.#id === '') deltas.push({ type: 'response', id })
    this.#id ||= id
    blocks.forEach((block, index) => {
      deltas.push(...this.#open(index, block), ...this.#close(this.#find(index)))
    })
    // A stop reason ahead of any content says nothing about what is still to come.
    const { stop_reason: _, ...unfinished } = message
    const known = isWhole || blocks.length > 0 ? message : unfinished
    return [
      ...deltas,
      ...droppedIn(message, this.#target),
      ...this.#update(known, objectAt(message, 'usage')),
    ]
  }

  #update(message: JsonObject, usage: JsonObject | undefined): Delta[] {
    this.#stopReason = stringAt(message, 'stop_reason') ?? this.#stopReason
    const details = objectAt(message, 'stop_details')
    this.#refusal = stringAt(details, 'explanation') ?? this.#refusal
    this.#refusalCategory = stringAt(details, 'category') ?? this.#refusalCategory
    this.#container = stringAt(objectAt(message, 'container'), 'id') ?? this.#container
    const counts = this.#usage.read(usage)
    return counts ? [{ type: 'usage', usage: counts }] : []
  }

  #open(index: number | undefined, block: JsonObject): Delta[] {
    const content = openContent(block, this.#calls.length)
    this.#contents.push(content)
    if (index !== undefined) this.#atIndex.set(index, content)
    switch (content.kind) {
      case 'text':
        return [
          ...this.#text(content, stringAt(block, 'text') ?? ''),
          ...(arrayAt(block, 'citations') ?? []).flatMap((citation) => this.#cite(content, citation)),
        ]
      case 'call':
        this.#calls.push(content)
        return [
          toolDelta(content.order, content, content.whole === undefined ? '' : JSON.stringify(content.whole)),
        ]
      case 'opaque':
        return thinkingDelta(block)
    }
  }

  #grow(index: number | undefined, delta: JsonObject): Delta[] {
    const content = this.#find(index) ?? this.#openFor(index, delta)
    if (!content) return []
    switch (content.kind) {
      case 'text': {
        const citation = objectAt(delta, 'citation')
        if (citation) return this.#cite(content, citation)
        const isText = (stringAt(delta, 'type') ?? 'text_delta') === 'text_delta'
        return this.#text(content, (isText && stringAt(delta, 'text')) || '')
      }
      case 'call': {
        const piece = stringAt(delta, 'partial_json') ?? ''
        content.text += piece
        return piece === '' ? [] : [toolDelta(content.order, content, piece)]
      }
      case 'opaque':
        if (!growOpaque(content, delta)) return []
        return stringAt(delta, 'thinking') ? thinkingDelta(delta) : [{ type: 'progress' }]
    }
  }

  /** The block of a delta; one without an index belongs to the latest block. */
  #find(index: number | undefined): Content | undefined {
    return index === undefined ? this.#contents.at(-1) : this.#atIndex.get(index)
  }

  /** Text and thinking of a block that was never announced are still text and thinking. */
  #openFor(index: number | undefined, delta: JsonObject): Content | undefined {
    const type = /^(text|thinking)_delta$/.exec(stringAt(delta, 'type') ?? '')?.[1]
    if (type === undefined) return undefined
    this.#open(index, type === 'thinking' ? { type, thinking: '', signature: '' } : { type })
    return this.#contents.at(-1)
  }

  #text(content: TextContent, text: string): Delta[] {
    if (text === '') return []
    if (content.length > 0 && this.#lastText !== content) this.#isInterleaved = true
    this.#lastText = content
    content.length += text.length
    return [{ type: 'text', text }]
  }

  #cite(content: TextContent, citation: JsonObject[string]): Delta[] {
    content.citations.push(citation)
    return [{ type: 'metadata', metadata: { citations: [citation] } }]
  }

  #close(content: Content | undefined): Delta[] {
    if (!content || content.kind === 'text' || content.isClosed) return []
    content.isClosed = true
    if (content.kind === 'call' || !isServerActivity(content)) return []
    return [{ type: 'metadata', metadata: { serverTools: [opaqueBlock(content)] } }]
  }

  #finish(): Delta[] {
    const raw = this.#stopReason
    if (raw === 'model_context_window_exceeded') return this.#fail(windowReached(raw))
    this.#isDone = true
    const reason = endReason(raw, this.#calls.length > 0)
    const replay = this.#isInterleaved
      ? undefined
      : replayOf(this.#contents, this.#target.provider, this.#container)
    const pausing = raw !== undefined && pauses.has(raw) && this.#calls.length === 0
    return [
      ...this.#contents.flatMap((content) => (content.kind === 'opaque' ? this.#close(content) : [])),
      ...(this.#refusal === '' ? [] : [metadata({ refusal: this.#refusal })]),
      ...(this.#refusalCategory === '' ? [] : [metadata({ refusalCategory: this.#refusalCategory })]),
      ...callDeltas(this.#wireCalls(reason === 'length'), reason),
      ...(replay ? [{ type: 'opaque', protocol: 'anthropic', data: replay } as const] : []),
      {
        type: 'finish',
        reason: pausing ? 'unspecified' : reason,
        ...(raw !== undefined && { raw }),
        ...(pausing && { pause: true }),
      },
    ]
  }

  /** Claude closes the block of a call also where the tokens run out before its arguments. */
  #wireCalls(isCut: boolean): WireToolCall[] {
    const last = this.#calls.at(-1)
    return this.#calls.map((content) => wireCall(content, content.isClosed && !(isCut && content === last)))
  }

  /** Calls that were complete are reported with the error; nothing runs from a stream without a proper end. */
  #fail(error: ErrorData): Delta[] {
    this.#isDone = true
    const complete = this.#calls.filter(hasArguments).map((content) => wireCall(content, true))
    const raw = this.#stopReason
    return [
      ...complete.filter(({ argumentsError }) => argumentsError === undefined).map(toolCallDelta),
      { type: 'error', error, ...(raw !== undefined && { raw }) },
    ]
  }
}

/** The API says which thinking it left out of the request, where it was asked to do so instead of refusing it. */
const droppedIn = (message: JsonObject, { provider, model }: Target): Delta[] => {
  const isDropped = (arrayAt(message, 'input_transformations') ?? []).some(
    (entry) =>
      isJsonObject(entry) && entry.type === 'thinking_dropped' && entry.reason === 'prefix_binding_mismatch',
  )
  const said = `${provider}:${model} left out thinking that belongs to another conversation.`
  return isDropped
    ? [
        {
          type: 'warning',
          warning: { setting: 'history', change: 'omitted', message: said, provider, model },
        },
      ]
    : []
}

/** The error of a body with two answers, which cannot be separated. */
const secondMessage: ErrorData = {
  name: 'ModelError',
  message: 'The provider began a second message inside the answer.',
  code: 'second_message',
  retryable: true,
}

const metadata = (values: JsonObject): Delta => ({ type: 'metadata', metadata: values })

const thinkingDelta = (source: JsonObject): Delta[] => {
  const text = stringAt(source, 'thinking') ?? ''
  return text === '' ? [] : [{ type: 'thinking', text }]
}

/** Collects the `usage` objects of one answer: a later count of a field replaces the earlier one. */
class AnthropicUsage {
  readonly #fields = new Map<string, JsonObject[string]>()

  /** The counts so far; undefined if these bring none. */
  read(usage: JsonObject | undefined): Usage | undefined {
    if (!usage) return undefined
    for (const [field, count] of Object.entries(usage)) if (count !== null) this.#fields.set(field, count)
    return usageOf(Object.fromEntries(this.#fields))
  }
}

/** Work that is billed beside the answer: its tokens are in `iterations` alone. */
const besideAnswer: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

/** Adds up the input: on the wire it is only what was neither read from the cache nor written to it. */
const usageOf = (usage: JsonObject): Usage | undefined => {
  const iterations = (arrayAt(usage, 'iterations') ?? []).filter(isJsonObject)
  const beside = iterations.filter(({ type }) => besideAnswer.has(type))
  const count = (field: string): number | undefined => {
    const counts = [usage, ...beside]
      .map((each) => numberAt(each, field))
      .filter((each) => each !== undefined)
    return counts.length === 0 ? undefined : counts.reduce((sum, each) => sum + each)
  }
  const fresh = count('input_tokens')
  const cached = count('cache_read_input_tokens')
  const written = count('cache_creation_input_tokens')
  return usageFrom({
    input: fresh === undefined ? undefined : fresh + (cached ?? 0) + (written ?? 0),
    output: count('output_tokens'),
    cached,
    written,
    reasoning: numberAt(objectAt(usage, 'output_tokens_details'), 'thinking_tokens'),
  })
}
