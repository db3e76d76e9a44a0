import { AbortedError } from '../../messages/errors.ts'
import type { JsonObject } from '../../messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  toolCallsOf,
} from '../../messages/messages.ts'
import type { FinishReason, PendingCall } from '../../messages/result.ts'
import { sourcesOf } from '../sources.ts'
import { type Decisions, errorTextOf, outputOf, questionIdOf, shownErrorOf, type TurnEvent } from '../turn.ts'
import { answerIdOf, fileOf, type UiChunk, type UiFinishReason } from './messages.ts'

/** The part of a message that is being streamed. */
type Open = { type: 'text' | 'reasoning'; id: string }

export type UiWriterOptions = {
  send: (chunk: UiChunk) => void
  /** The major version of `ai` in the page. */
  clientVersion: 5 | 6 | 7
  /** The client's message that continues. */
  messageId: string | undefined
  /** The client's id of the prompt, which names a new message; without it, the message has the id of its run. */
  promptId?: string | undefined
  /** The decisions that continue the turn. */
  decisions: Decisions
  showError: (error: unknown) => string
}

/**
 * Writes a turn as a stream of UI messages. A step is an answer of the model with the results of its calls. Every part
 * that is started is ended, and its id is used once.
 */
export class UiMessageWriter {
  readonly #options: UiWriterOptions
  #isInStep = false
  #open: Open | undefined
  #parts = 0
  /** True if the step has results: the next text of the model is another step. */
  #hasResults = false
  /** True if the next text follows results. It begins with a newline then, which a separate part does not need. */
  #followsResults: boolean
  /** Calls whose arguments are being streamed, by their index in the answer. */
  readonly #streaming = new Map<number, { id: string; name: string; isBegun: boolean }>()
  readonly #calls = new Set<string>()
  /** The calls of the last answer. */
  #round: readonly ToolCallPart[] = []
  readonly #results = new Set<string>()

  constructor(options: UiWriterOptions) {
    this.#options = options
    this.#followsResults = options.messageId !== undefined
  }

  onEvent(event: TurnEvent): void {
    if (event.type === 'begin') this.#begin(event.runId)
    else if (event.type === 'state')
      this.#send({ type: 'data-state', id: 'state', data: { state: event.state } })
    else if (event.type === 'text') this.#text(event.text)
    else if (event.type === 'thinking') this.#delta('reasoning', event.text)
    else if (event.type === 'callDelta') this.#callDelta(event)
    else if (event.type === 'restart') this.#restart()
    else if (event.type === 'answer') this.#answer(event.message)
    else if (event.type === 'progress')
      this.#send({ type: 'data-progress', id: event.callId, data: event.value })
    else if (event.type === 'data') this.#data(event)
    else if (event.type === 'pageState') return
    else if (event.type === 'result') this.#result(event.result)
    else if (event.type === 'waits') this.#waits(event.calls)
    else this.#finish(event.finishReason, event.usage ? { usage: { ...event.usage } } : {})
  }

  /** Ends a turn that broke. */
  fail(error: unknown): void {
    this.#closePart()
    if (error instanceof AbortedError) this.#send({ type: 'abort' })
    else this.#send({ type: 'error', errorText: this.#options.showError(error) })
  }

  #send(chunk: UiChunk): void {
    this.#options.send(chunk)
  }

  #begin(runId: string): void {
    const { promptId, decisions } = this.#options
    const newId = promptId === undefined ? runId : answerIdOf(promptId)
    const { messageId = newId } = this.#options
    this.#send({ type: 'start', messageId })
    for (const [toolCallId, decision] of Object.entries(decisions)) {
      // The page never gets the result of a sub-agent's call.
      if (!isOfSubAgent(toolCallId) || typeof decision !== 'object' || 'result' in decision) continue
      if (decision.approve) this.#send({ type: 'tool-output-available', toolCallId, output: 'approved' })
      else this.#deny(toolCallId, 'rejected')
    }
  }

  #data({ name, data, id, transient }: TurnEvent & { type: 'data' }): void {
    const options = { ...(id !== undefined && { id }), ...(transient && { transient }) }
    this.#send({ type: `data-${name}`, data, ...options })
  }

  #text(text: string): void {
    const shown = this.#followsResults ? text.replace(/^\n/, '') : text
    this.#followsResults = false
    if (shown !== '') this.#delta('text', shown)
  }

  #delta(type: Open['type'], delta: string): void {
    this.#beginStep()
    if (this.#open?.type !== type) {
      this.#closePart()
      this.#parts += 1
      this.#open = { type, id: `${type}-${this.#parts}` }
      this.#send({ type: `${type}-start`, id: this.#open.id })
    }
    this.#send({ type: `${type}-delta`, id: this.#open.id, delta })
  }

  #callDelta({ index, id, name, arguments: text }: TurnEvent & { type: 'callDelta' }): void {
    const call = this.#streaming.get(index) ?? { id: '', name: '', isBegun: false }
    this.#streaming.set(index, call)
    call.id ||= id ?? ''
    call.name ||= name ?? ''
    // Two calls may be streamed under one id: the whole calls have different ones.
    if (!call.isBegun && (call.id === '' || call.name === '' || this.#calls.has(call.id))) return
    this.#beginStep()
    this.#closePart()
    if (!call.isBegun) this.#send({ type: 'tool-input-start', toolCallId: call.id, toolName: call.name })
    call.isBegun = true
    this.#calls.add(call.id)
    if (text !== '') this.#send({ type: 'tool-input-delta', toolCallId: call.id, inputTextDelta: text })
  }

  #answer(message: ChatMessage): void {
    const calls = toolCallsOf(message)
    this.#beginStep()
    this.#closePart()
    for (const part of message.parts)
      if (part.type === 'data' || part.type === 'link') this.#send({ type: 'file', ...fileOf(part) })
    for (const source of sourcesOf(message)) this.#send({ type: 'source-url', ...source })
    this.#dropUnfinished(new Set(calls.map(({ id }) => id)))
    for (const call of calls) this.#call(call)
    this.#round = calls
    // Without calls nothing more belongs to the step.
    if (calls.length === 0) this.#endStep()
  }

  #call({ id, name, arguments: input, argumentsError, argumentsRaw = '' }: ToolCallPart): void {
    this.#calls.add(id)
    const call = { toolCallId: id, toolName: name }
    if (argumentsError === undefined) this.#send({ type: 'tool-input-available', ...call, input })
    else this.#send({ type: 'tool-input-error', ...call, input: argumentsRaw, errorText: argumentsError })
  }

  /** Ends streamed calls that are not in the answer, or have another id there. */
  #dropUnfinished(kept: ReadonlySet<string>): void {
    for (const { id, name, isBegun } of this.#streaming.values())
      if (isBegun && !kept.has(id)) {
        const errorText = 'This call was not completed.'
        this.#send({ type: 'tool-input-error', toolCallId: id, toolName: name, input: '', errorText })
      }
    this.#streaming.clear()
  }

  #result(result: ToolResultPart): void {
    const { id: toolCallId, isError, rejected } = result
    this.#followsResults = true
    this.#hasResults = true
    if (this.#results.has(toolCallId)) return
    this.#results.add(toolCallId)
    if (rejected) this.#deny(toolCallId, errorTextOf(result))
    else if (isError)
      this.#send({
        type: 'tool-output-error',
        toolCallId,
        errorText: shownErrorOf(result, this.#options.showError),
      })
    else this.#send({ type: 'tool-output-available', toolCallId, output: outputOf(result) })
  }

  #deny(toolCallId: string, errorText: string): void {
    if (this.#options.clientVersion > 5) this.#send({ type: 'tool-output-denied', toolCallId })
    else this.#send({ type: 'tool-output-error', toolCallId, errorText })
  }

  #restart(): void {
    this.#closePart()
    this.#dropUnfinished(new Set())
    // Parts that were shown cannot be removed: a page can drop the parts of this step itself.
    this.#send({ type: 'data-restart', data: {}, transient: true })
  }

  #waits(calls: readonly PendingCall[]): void {
    const hasApprovals = calls.some(({ kind }) => kind !== 'answer')
    for (const call of this.#round)
      if (!this.#results.has(call.id) && !calls.some(({ id }) => id === call.id))
        this.#setAside(call, hasApprovals)
    for (const call of calls) {
      // A call that the page has not seen.
      if ((isOfSubAgent(call.id) || call.kind === 'limit') && !this.#calls.has(call.id)) {
        this.#beginStep()
        this.#call(call)
      }
      if (call.kind !== 'answer') this.#askFor(call)
    }
    // The page sends its metadata back: the results of its tools, and the decisions of version 5, have no place for a question.
    const hasNoPlace = ({ kind }: PendingCall) => kind === 'answer' || this.#options.clientVersion === 5
    const questions = calls.flatMap((call) =>
      hasNoPlace(call) && call.question !== undefined ? [[call.id, call.question] as const] : [],
    )
    this.#finish('toolCalls', questions.length > 0 ? { questions: Object.fromEntries(questions) } : {})
  }

  /**
   * Shows a call that runs later as settled: otherwise the hooks would not continue by themselves once the other calls
   * are decided.
   */
  #setAside({ id, name, arguments: input, argumentsError }: ToolCallPart, hasApprovals: boolean): void {
    if (argumentsError !== undefined) return
    const call = { toolCallId: id, toolName: name, input }
    this.#send({ type: 'tool-input-available', ...call, providerExecuted: true })
    if (!hasApprovals || this.#options.clientVersion < 7) return
    this.#send({ type: 'tool-approval-request', approvalId: id, toolCallId: id, isAutomatic: true })
    this.#send({ type: 'tool-approval-response', approvalId: id, approved: true })
  }

  #askFor(call: PendingCall): void {
    const { id, name, arguments: args, inDoubt } = call
    const approvalId = questionIdOf(call)
    const reason = inDoubt && 'It was running when its process ended: approve it to run it again.'
    const asked = { ...(reason && { reason }) }
    if (this.#options.clientVersion > 5)
      this.#send({ type: 'tool-approval-request', approvalId, toolCallId: id, ...asked })
    // Version 5 does not have approvals.
    else {
      const data: JsonObject = {
        ...(call.question !== undefined && { id: approvalId }),
        toolCallId: id,
        toolName: name,
        input: args,
        ...asked,
      }
      this.#send({ type: 'data-approval', id: `approval-${id}`, data })
    }
  }

  #finish(finishReason: FinishReason, messageMetadata: JsonObject): void {
    this.#closePart()
    this.#endStep()
    this.#send({
      type: 'finish',
      finishReason: finishReasons[finishReason],
      ...(Object.keys(messageMetadata).length > 0 && { messageMetadata }),
    })
  }

  #beginStep(): void {
    if (this.#hasResults) this.#endStep()
    if (!this.#isInStep) this.#send({ type: 'start-step' })
    this.#isInStep = true
    this.#hasResults = false
  }

  #endStep(): void {
    if (this.#isInStep) this.#send({ type: 'finish-step' })
    this.#isInStep = false
  }

  #closePart(): void {
    if (this.#open) this.#send({ type: `${this.#open.type}-end`, id: this.#open.id })
    this.#open = undefined
  }
}

/** True for a call of a sub-agent: its id begins with that of the call that runs the sub-agent. */
const isOfSubAgent = (callId: string): boolean => callId.includes('/')

const finishReasons: Readonly<Record<FinishReason, UiFinishReason>> = {
  stop: 'stop',
  length: 'length',
  maxSteps: 'length',
  limit: 'length',
  contentFilter: 'content-filter',
  toolCalls: 'tool-calls',
  error: 'error',
  aborted: 'other',
  unspecified: 'other',
}
