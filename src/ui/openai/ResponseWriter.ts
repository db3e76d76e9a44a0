import type { JsonObject } from '../../messages/json.ts'
import type { FinishReason, PendingCall, Usage } from '../../messages/result.ts'
import { newId } from '../../model/newId.ts'
import type { Refusal } from '../Refusal.ts'
import type { TurnEvent } from '../turnEvents.ts'
import { type AnswerWriter, cannotRestart, clientCalls, type SendEvent, seconds } from './answerWriter.ts'

/** A part of the answer that is being written. */
type OpenItem = { kind: 'message' | 'reasoning'; id: string; text: string }

/** Writes a turn as a response of the Responses API. The agent's own tools stay inside. */
export class ResponseWriter implements AnswerWriter {
  readonly #send: SendEvent
  readonly #head: JsonObject
  readonly #output: JsonObject[] = []
  #open: OpenItem | undefined
  #events = 0
  #status = 'in_progress'
  #details: JsonObject = {}

  constructor(model: string, send: SendEvent) {
    this.#send = send
    this.#head = { id: `resp_${newId()}`, object: 'response', created_at: seconds(), model }
  }

  hear(event: TurnEvent): void {
    if (event.type === 'begin') {
      this.#event('response.created', { response: this.result() })
      this.#event('response.in_progress', { response: this.result() })
    } else if (event.type === 'text') this.#delta('message', event.text)
    else if (event.type === 'thinking') this.#delta('reasoning', event.text)
    else if (event.type === 'restart') this.#restart()
    else if (event.type === 'waits') this.#waits(event.calls)
    else if (event.type === 'end') this.#end(event.finishReason, event.usage)
  }

  fail({ message, code }: Refusal): void {
    this.#close()
    this.#status = 'failed'
    this.#details = { error: { code, message } }
    this.#event('response.failed', { response: this.result() })
  }

  result(): JsonObject {
    return {
      ...this.#head,
      status: this.#status,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      output: this.#output,
      parallel_tool_calls: true,
      temperature: null,
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      usage: null,
      ...this.#details,
    }
  }

  get #index(): number {
    return this.#output.length
  }

  #event(type: string, data: JsonObject): void {
    this.#send({ type, sequence_number: this.#events, ...data })
    this.#events += 1
  }

  #delta(kind: OpenItem['kind'], delta: string): void {
    if (this.#open?.kind !== kind) {
      this.#close()
      this.#open = { kind, id: `${kind === 'message' ? 'msg' : 'rs'}_${newId()}`, text: '' }
      this.#begin(this.#open)
    }
    this.#open.text += delta
    const place = { item_id: this.#open.id, output_index: this.#index }
    if (kind === 'message')
      this.#event('response.output_text.delta', { ...place, content_index: 0, delta, logprobs: [] })
    else this.#event('response.reasoning_summary_text.delta', { ...place, summary_index: 0, delta })
  }

  #begin({ kind, id }: OpenItem): void {
    const place = { item_id: id, output_index: this.#index }
    if (kind === 'message') {
      this.#added({ id, type: 'message', role: 'assistant', status: 'in_progress', content: [] })
      this.#event('response.content_part.added', { ...place, content_index: 0, part: textPart('') })
    } else {
      this.#added({ id, type: 'reasoning', summary: [] })
      this.#event('response.reasoning_summary_part.added', { ...place, summary_index: 0, part: summary('') })
    }
  }

  #close(): void {
    if (!this.#open) return
    const { kind, id, text } = this.#open
    this.#open = undefined
    const place = { item_id: id, output_index: this.#index }
    if (kind === 'message') {
      const part = textPart(text)
      this.#event('response.output_text.done', { ...place, content_index: 0, text, logprobs: [] })
      this.#event('response.content_part.done', { ...place, content_index: 0, part })
      this.#done({ id, type: 'message', role: 'assistant', status: 'completed', content: [part] })
    } else {
      this.#event('response.reasoning_summary_text.done', { ...place, summary_index: 0, text })
      this.#event('response.reasoning_summary_part.done', { ...place, summary_index: 0, part: summary(text) })
      this.#done({ id, type: 'reasoning', summary: [summary(text)] })
    }
  }

  #added(item: JsonObject): void {
    this.#event('response.output_item.added', { output_index: this.#index, item })
  }

  #done(item: JsonObject): void {
    this.#event('response.output_item.done', { output_index: this.#index, item })
    this.#output.push(item)
  }

  #restart(): void {
    if (this.#open || this.#output.length > 0) throw cannotRestart()
  }

  #waits(calls: readonly PendingCall[]): void {
    const asked = clientCalls(calls)
    this.#close()
    for (const { id: call_id, name, arguments: args } of asked) {
      const item = { id: `fc_${newId()}`, type: 'function_call', call_id, name }
      const text = JSON.stringify(args)
      const place = { item_id: item.id, output_index: this.#index }
      this.#added({ ...item, arguments: '', status: 'in_progress' })
      this.#event('response.function_call_arguments.delta', { ...place, delta: text })
      this.#event('response.function_call_arguments.done', { ...place, name, arguments: text })
      this.#done({ ...item, arguments: text, status: 'completed' })
    }
    this.#end('toolCalls', undefined)
  }

  #end(finishReason: FinishReason, usage: Usage | undefined): void {
    this.#close()
    const reason = incomplete[finishReason]
    this.#status = reason ? 'incomplete' : 'completed'
    this.#details = { usage: usageOf(usage ?? {}), ...(reason && { incomplete_details: { reason } }) }
    this.#event(`response.${this.#status}`, { response: this.result() })
  }
}

const textPart = (text: string): JsonObject => ({ type: 'output_text', text, annotations: [], logprobs: [] })

const summary = (text: string): JsonObject => ({ type: 'summary_text', text })

const incomplete: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'max_output_tokens',
  maxSteps: 'max_output_tokens',
  limit: 'max_output_tokens',
  contentFilter: 'content_filter',
}

const usageOf = (usage: Usage): JsonObject => {
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: totalTokens,
  }
}
