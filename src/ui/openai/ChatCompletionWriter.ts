import type { JsonObject } from '../../messages/json.ts'
import type { FinishReason, PendingCall, Usage } from '../../messages/result.ts'
import { newId } from '../../model/newId.ts'
import type { Refusal } from '../Refusal.ts'
import type { TurnEvent } from '../turnEvents.ts'
import { type AnswerWriter, cannotRestart, clientCalls, type SendEvent, seconds } from './answerWriter.ts'
import { errorOf } from './openaiError.ts'

/** Writes a turn as a chat completion. The agent's own tools stay inside. */
export class ChatCompletionWriter implements AnswerWriter {
  readonly #send: SendEvent
  readonly #hasUsage: boolean
  readonly #head: JsonObject
  #text = ''
  #thinking = ''
  #calls: JsonObject[] = []
  #finishReason = 'stop'
  #usage: JsonObject | null = null

  constructor(model: string, send: SendEvent, hasUsage: boolean) {
    this.#send = send
    this.#hasUsage = hasUsage
    this.#head = { id: `chatcmpl-${newId()}`, created: seconds(), model }
  }

  hear(event: TurnEvent): void {
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

  fail(refusal: Refusal): void {
    this.#send(errorOf(refusal))
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
    return { ...this.#head, object: 'chat.completion', choices: [choice], usage: this.#usage ?? usageOf({}) }
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
    this.#usage = usageOf(usage ?? {})
    this.#delta({}, finishReason)
    if (this.#hasUsage) this.#chunk([], this.#usage)
  }

  #delta(delta: JsonObject, finish_reason: string | null = null): void {
    this.#chunk([{ index: 0, delta, logprobs: null, finish_reason }], null)
  }

  #chunk(choices: JsonObject[], usage: JsonObject | null): void {
    this.#send({ ...this.#head, object: 'chat.completion.chunk', choices, ...(this.#hasUsage && { usage }) })
  }
}

const usageOf = (usage: Usage): JsonObject => {
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
