import { describeThrown, type ErrorData } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { FinishReason, Usage } from '../../src/messages/result.ts'
import type { Delta, WireToolCall } from '../../src/model/delta.ts'
import { numberAt, objectAt } from './json.ts'
import type { Decoder, WireEvent } from './protocol.ts'

/** Runs a decoder and keeps the deltas of one network read together, until the stream finished or failed. */
export class DeltaBatch {
  readonly #decoder: Decoder
  readonly #hide: (text: string) => string
  #deltas: Delta[] = []
  /** The `finish` delta is in the batch, or was. */
  isFinished = false
  /** The content of the `error` delta; it is not part of the batch. */
  failure: ErrorData | undefined

  /** `hide` takes the secrets out of what a server names itself: it may give back what it was sent anywhere. */
  constructor(decoder: Decoder, hide: (text: string) => string = (text) => text) {
    this.#decoder = decoder
    this.#hide = hide
  }

  push(event: WireEvent): void {
    if (this.isFinished || this.failure) return
    try {
      this.#add(this.#decoder.push(event))
    } catch (thrown) {
      this.failure = undecodable(thrown)
    }
  }

  end(isBroken: boolean): void {
    if (this.isFinished || this.failure) return
    try {
      this.#add(this.#decoder.end(isBroken))
    } catch (thrown) {
      this.failure = undecodable(thrown)
    }
  }

  /** The deltas since the last call. */
  take(): readonly Delta[] {
    if (this.#decoder.readDone && !this.isFinished && !this.failure) this.#add(this.#decoder.readDone())
    const deltas = this.#deltas
    this.#deltas = []
    return deltas
  }

  #add(deltas: readonly Delta[]): void {
    for (const delta of deltas) {
      if (delta.type === 'error') this.failure = failureOf(delta)
      else if (delta.type === 'toolDelta') this.#addPiece(delta)
      else this.#deltas.push(this.#safe(delta))
      if (delta.type === 'finish') this.isFinished = true
    }
  }

  /** The pieces of one call in one read are one: only what they add up to is shown. */
  #addPiece(piece: ToolDelta): void {
    const last = this.#deltas.at(-1)
    if (last?.type !== 'toolDelta' || last.index !== piece.index) this.#deltas.push(piece)
    else
      this.#deltas[this.#deltas.length - 1] = {
        ...last,
        ...piece,
        arguments: last.arguments + piece.arguments,
      }
  }

  #safe(delta: Delta): Delta {
    if (delta.type === 'finish' && delta.raw !== undefined) return { ...delta, raw: this.#hide(delta.raw) }
    return delta.type === 'response' ? { ...delta, id: this.#hide(delta.id) } : delta
  }
}

type ToolDelta = Extract<Delta, { type: 'toolDelta' }>

const failureOf = ({ error, raw }: Extract<Delta, { type: 'error' }>): ErrorData =>
  raw === undefined ? error : { ...error, rawFinishReason: raw }

const undecodable = (thrown: unknown): ErrorData => ({
  name: 'ModelError',
  message: `An event of the provider could not be read: ${describeThrown(thrown)}`,
  code: 'undecodable_event',
  retryable: false,
})

/** The stream ended before its protocol said so. */
export const truncated = (missing: string): ErrorData => ({
  name: 'ModelError',
  message: `The stream ended before it was complete: ${missing} never came.`,
  code: 'truncated',
  retryable: true,
})

/** Counts as a wire gives them; what it leaves out is undefined. */
export type Counts = {
  /** All input, cached and written included. */
  input: number | undefined
  output: number | undefined
  total?: number | undefined
  cached?: number | undefined
  written?: number | undefined
  reasoning?: number | undefined
  cost?: number | undefined
}

/**
 * The counts in the one meaning they have for all providers: input is all input, output all output, and the total is their
 * sum. Undefined where nothing was counted.
 */
export const usageFrom = (counts: Counts): Usage | undefined => {
  const { input, cached, written, reasoning, cost } = counts
  const output = isThinkingBeside(counts) ? sum(counts.output, reasoning) : counts.output
  const total = input !== undefined && output !== undefined ? input + output : counts.total
  const usage: Usage = {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(total !== undefined && { totalTokens: total }),
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    ...(cost !== undefined && { cost }),
  }
  return Object.keys(usage).length > 0 ? usage : undefined
}

/** xAI counts thinking beside the output; only its total says so. */
const isThinkingBeside = ({ input, output, total, reasoning }: Counts): boolean =>
  sum(reasoning) > 0 && total === sum(input, output, reasoning)

const sum = (...counts: (number | undefined)[]): number =>
  counts.reduce((total: number, count) => total + (count ?? 0), 0)

/** The token counts of a usage object, under any of the names compatible servers give them. */
export const openaiUsage = (usage: JsonObject | undefined): Usage | undefined => {
  if (!usage) return undefined
  const prompt = objectAt(usage, 'prompt_tokens_details') ?? objectAt(usage, 'input_tokens_details')
  const completion = objectAt(usage, 'completion_tokens_details') ?? objectAt(usage, 'output_tokens_details')
  return usageFrom({
    input: numberAt(usage, 'prompt_tokens') ?? numberAt(usage, 'input_tokens'),
    output: numberAt(usage, 'completion_tokens') ?? numberAt(usage, 'output_tokens'),
    total: numberAt(usage, 'total_tokens'),
    cached:
      numberAt(prompt, 'cached_tokens') ??
      numberAt(usage, 'prompt_cache_hit_tokens') ??
      numberAt(usage, 'cached_tokens') ??
      numberAt(usage, 'num_cached_tokens'),
    written: numberAt(prompt, 'cache_write_tokens') ?? numberAt(usage, 'cache_creation_input_tokens'),
    reasoning: numberAt(completion, 'reasoning_tokens') ?? numberAt(usage, 'reasoning_tokens'),
    // OpenRouter's figure, in dollars.
    cost: numberAt(usage, 'cost'),
  })
}

/** The result that a model sees of a call that did not run because it may be incomplete. */
export const neverClosed =
  'The call was cut off before it was complete, so it was not run. Make the whole call again if it is still needed.'

/** A call that is kept but must not run. What was wrong with it before stays what is wrong with it. */
export const withheld = (call: WireToolCall, problem: string): WireToolCall =>
  call.argumentsError === undefined
    ? { ...call, argumentsRaw: call.argumentsRaw ?? JSON.stringify(call.arguments), argumentsError: problem }
    : call

const badEnds: Partial<Record<FinishReason, string>> = {
  contentFilter:
    'The call was not run: the answer was stopped by a content filter or a refusal before it was complete.',
  error: 'The call was not run: the provider ended the answer with an error before it was complete.',
}

/** The calls of an answer that ended for this reason: after a bad end none of them may run. */
export const callDeltas = (calls: readonly WireToolCall[], reason: FinishReason): Delta[] => {
  const problem = badEnds[reason]
  return calls.map((call) => ({
    type: 'toolCall',
    call: problem === undefined ? call : withheld(call, problem),
  }))
}

/** The delta that shows a piece of a call. */
export const toolDelta = (
  index: number,
  { id, name }: { id: string; name: string },
  piece: string,
): ToolDelta => ({
  type: 'toolDelta',
  index,
  ...(id !== '' && { id }),
  ...(name !== '' && { name }),
  arguments: piece,
})

/** The delta of a whole call, for the report of a stream that broke. */
export const toolCallDelta = (call: WireToolCall): Delta => ({ type: 'toolCall', call })
