import type { JsonObject } from '../../messages/json.ts'
import type { FinishReason, PendingCall, Usage } from '../../messages/result.ts'
import { newId } from '../../model/newId.ts'
import { HttpError } from '../request.ts'
import type { TurnEvent } from '../turn.ts'

/** Writes a turn in one of OpenAI's forms: event by event, or whole at the end. */
export type AnswerWriter = {
  /** The id of the answer. */
  readonly id: string
  onEvent(event: TurnEvent): void
  /** Ends a turn that broke after its beginning was sent. */
  fail(error: HttpError): void
  /** The whole answer. */
  result(): JsonObject
}

/** Sends an event of a stream. It does nothing if the client wants the whole answer. */
export type SendEvent = (data: JsonObject) => void

/** The calls that the client must answer. This API cannot ask for an approval. */
const clientCalls = (calls: readonly PendingCall[]): readonly PendingCall[] => {
  const asked = calls.find(({ kind }) => kind !== 'answer')
  if (!asked) return calls
  throw new HttpError(
    500,
    'The agent needs an approval, and this API cannot ask for it: give the agent onApproval.',
    'approval_required',
  )
}

/** The error of an answer that starts over: text that was sent cannot be removed. */
const cannotRestart = () =>
  new HttpError(500, 'The answer was interrupted, and would have to start over.', 'server_error')

const seconds = (): number => Math.floor(Date.now() / 1000)

/** An error as clients of OpenAI read it. */
export const errorOf = ({ status, message, code }: HttpError): JsonObject => ({
  error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code },
})

/** Writes a turn as a chat completion. It does not show the agent's own tools. */
export class ChatCompletionWriter implements AnswerWriter {
  readonly #send: SendEvent
  readonly #hasUsage: boolean
  readonly #common: JsonObject
  #text = ''
  #thinking = ''
  #calls: JsonObject[] = []
  #finishReason = 'stop'
  #usage: JsonObject | null = null

  readonly id = `chatcmpl-${newId()}`

  constructor(model: string, send: SendEvent, hasUsage: boolean) {
    this.#send = send
    this.#hasUsage = hasUsage
    this.#common = { id: this.id, created: seconds(), model }
  }

  onEvent(event: TurnEvent): void {
    if (event.type === 'begin') this.#delta({ role: 'assistant', content: '' })
    else if (event.type === 'text') {
      this.#text += event.text
      this.#delta({ content: event.text })
    } else if (event.type === 'thinking') {
      this.#thinking += event.text
      this.#delta({ reasoning_content: event.text })
    } else if (event.type === 'restart') this.#restart()
    else if (event.type === 'waits') this.#waits(event.calls)
    else if (event.type === 'end') this.#end(finishReasons[event.finishReason], event.usage)
  }

  fail(error: HttpError): void {
    this.#send(errorOf(error))
  }

  result(): JsonObject {
    const message = {
      role: 'assistant',
      content: this.#text === '' && this.#calls.length > 0 ? null : this.#text,
      refusal: null,
      ...(this.#thinking !== '' && { reasoning_content: this.#thinking }),
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: this.#finishReason }
    return {
      ...this.#common,
      object: 'chat.completion',
      choices: [choice],
      usage: this.#usage ?? completionUsage({}),
    }
  }

  #restart(): void {
    if (this.#text + this.#thinking !== '') throw cannotRestart()
  }

  #waits(calls: readonly PendingCall[]): void {
    this.#calls = clientCalls(calls).map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }))
    this.#delta({ tool_calls: this.#calls.map((call, index) => ({ index, ...call })) })
    this.#end('tool_calls', undefined)
  }

  #end(finishReason: string, usage: Usage | undefined): void {
    this.#finishReason = finishReason
    this.#usage = completionUsage(usage ?? {})
    this.#delta({}, finishReason)
    if (this.#hasUsage) this.#chunk([], this.#usage)
  }

  #delta(delta: JsonObject, finish_reason: string | null = null): void {
    this.#chunk([{ index: 0, delta, logprobs: null, finish_reason }], null)
  }

  #chunk(choices: JsonObject[], usage: JsonObject | null): void {
    this.#send({
      ...this.#common,
      object: 'chat.completion.chunk',
      choices,
      ...(this.#hasUsage && { usage }),
    })
  }
}

const completionUsage = (usage: Usage): JsonObject => {
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  }
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  maxSteps: 'length',
  limit: 'length',
  contentFilter: 'content_filter',
  toolCalls: 'tool_calls',
  error: 'stop',
  aborted: 'stop',
  unspecified: 'stop',
}

/** An item of the answer that is being written. */
type OpenItem = { kind: 'message' | 'reasoning'; id: string; text: string }

/** Writes a turn as a response of the Responses API. It does not show the agent's own tools. */
export class ResponseWriter implements AnswerWriter {
  readonly #send: SendEvent
  readonly #common: JsonObject
  readonly #output: JsonObject[] = []
  #open: OpenItem | undefined
  #events = 0
  #status = 'in_progress'
  #details: JsonObject = {}

  readonly id = `resp_${newId()}`

  constructor(model: string, send: SendEvent, previous: string | null = null) {
    this.#send = send
    const named = { id: this.id, object: 'response', created_at: seconds(), model }
    this.#common = { ...named, previous_response_id: previous }
  }

  onEvent(event: TurnEvent): void {
    if (event.type === 'begin') {
      this.#event('response.created', { response: this.result() })
      this.#event('response.in_progress', { response: this.result() })
    } else if (event.type === 'text') this.#delta('message', event.text)
    else if (event.type === 'thinking') this.#delta('reasoning', event.text)
    else if (event.type === 'restart') this.#restart()
    else if (event.type === 'waits') this.#waits(event.calls)
    else if (event.type === 'end') this.#end(event.finishReason, event.usage)
  }

  fail({ message, code }: HttpError): void {
    this.#close()
    this.#status = 'failed'
    this.#details = { error: { code, message } }
    this.#event('response.failed', { response: this.result() })
  }

  result(): JsonObject {
    return {
      ...this.#common,
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
    this.#details = { usage: responseUsage(usage ?? {}), ...(reason && { incomplete_details: { reason } }) }
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

const responseUsage = (usage: Usage): JsonObject => {
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: totalTokens,
  }
}
