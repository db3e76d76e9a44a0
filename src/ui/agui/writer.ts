import { AbortedError } from '../../messages/errors.ts'
import { type JsonObject, type JsonValue, stableJson } from '../../messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  type ToolResultPart,
  textOf,
  toolCallsOf,
} from '../../messages/messages.ts'
import type { PendingCall, Usage } from '../../messages/result.ts'
import { newId } from '../../model/newId.ts'
import { parseArguments } from '../../model/toolArguments.ts'
import { sourcesOf } from '../sources.ts'
import { questionIdOf, shownErrorOf, type TurnEvent } from '../turn.ts'
import { fileOf } from '../uiMessages/messages.ts'
import { statePatch } from './statePatch.ts'

/** A call that is being streamed; `text` is what was shown of its arguments. */
type StreamedCall = { id: string; name: string; isBegun: boolean; text: string }

/** The message that is being shown. */
type Open = { kind: 'TEXT' | 'REASONING'; id: string; text: string }

type AguiWriterOptions = {
  send: (event: JsonObject) => void
  threadId: string
  runId: string
  /** The thread as the client sent it. */
  messages: readonly JsonObject[]
  showError: (error: unknown) => string
}

/** Writes a turn as events of AG-UI. Every message that is started is ended before the run ends. */
export class AguiWriter {
  readonly #options: AguiWriterOptions
  /** The thread, with the messages that this run has added. */
  readonly #messages: JsonObject[]
  /** Calls whose result the client has. It has the results of its own tools from the start. */
  readonly #results: Set<unknown>
  readonly #calls = new Set<string>()
  /** Calls whose arguments are being streamed, by their index in the answer. */
  readonly #streaming = new Map<number, StreamedCall>()
  #open: Open | undefined
  /** The message of the answer that is being streamed, to which its calls belong, too. */
  #answerId: string | undefined
  #followsResults: boolean
  /** The state that the page has from this run. */
  #state: JsonValue | undefined

  constructor(options: AguiWriterOptions) {
    this.#options = options
    this.#messages = [...options.messages]
    this.#results = new Set(options.messages.map(({ toolCallId }) => toolCallId))
    this.#followsResults = options.messages.at(-1)?.role !== 'user'
  }

  onEvent(event: TurnEvent): void {
    if (event.type === 'begin') this.#send('RUN_STARTED', { ...this.#run, protocolVersion: '1.0' })
    else if (event.type === 'state') this.#send('CUSTOM', { name: 'state', value: { state: event.state } })
    else if (event.type === 'text') this.#text(event.text)
    else if (event.type === 'thinking') this.#delta('REASONING', event.text)
    else if (event.type === 'callDelta') this.#callDelta(event)
    else if (event.type === 'restart') this.#restart()
    else if (event.type === 'answer') this.#answer(event.message)
    else if (event.type === 'progress')
      this.#send('CUSTOM', { name: 'progress', value: { toolCallId: event.callId, value: event.value } })
    else if (event.type === 'data') this.#send('CUSTOM', { name: event.name, value: event.data })
    else if (event.type === 'pageState') this.#pageState(event.state)
    else if (event.type === 'result') this.#result(event.result)
    else if (event.type === 'waits') this.#waits(event.calls)
    else if (event.type === 'end') this.#finish({ type: 'success' }, event.usage)
  }

  /** Ends a turn that broke. */
  fail(error: unknown): void {
    this.#close()
    this.#endCalls()
    if (error instanceof AbortedError) this.#finish({ type: 'cancelled' })
    else this.#send('RUN_ERROR', { message: this.#options.showError(error), code: 'run_failed' })
  }

  /** Sends the state as changes, if this run has sent a state before: the page may have changed its own. */
  #pageState(state: JsonValue): void {
    const patch = this.#state === undefined ? undefined : statePatch(this.#state, state)
    this.#state = state
    if (!patch) this.#send('STATE_SNAPSHOT', { snapshot: state })
    else if (patch.length > 0) this.#send('STATE_DELTA', { delta: patch })
  }

  get #run(): JsonObject {
    const { threadId, runId } = this.#options
    return { threadId, runId }
  }

  #send(type: string, fields: JsonObject): void {
    this.#options.send({ type, ...fields })
  }

  #text(text: string): void {
    // A newline separates the text from the text before the results. Here it is a separate message.
    const shown = this.#followsResults ? text.replace(/^\n/, '') : text
    this.#followsResults = false
    if (shown !== '') this.#delta('TEXT', shown)
  }

  #delta(kind: Open['kind'], delta: string): void {
    if (this.#open?.kind !== kind) {
      this.#close()
      this.#open = { kind, id: newId(), text: '' }
      const { id: messageId } = this.#open
      if (kind === 'TEXT') {
        this.#answerId = messageId
        this.#send('TEXT_MESSAGE_START', { messageId, role: 'assistant' })
      } else {
        this.#send('REASONING_START', { messageId })
        this.#send('REASONING_MESSAGE_START', { messageId, role: 'reasoning' })
      }
    }
    this.#open.text += delta
    this.#send(`${kind}_MESSAGE_CONTENT`, { messageId: this.#open.id, delta })
  }

  #close(): void {
    if (!this.#open) return
    const { kind, id: messageId, text } = this.#open
    this.#open = undefined
    this.#send(`${kind}_MESSAGE_END`, { messageId })
    if (kind === 'TEXT') return
    this.#send('REASONING_END', { messageId })
    this.#messages.push({ id: messageId, role: 'reasoning', content: text })
  }

  #answer(message: ChatMessage): void {
    this.#close()
    const calls = toolCallsOf(message)
    const id = this.#answerId ?? newId()
    this.#answerId = undefined
    const streamed = new Map(this.#endCalls().map(({ id: callId, text }) => [callId, text]))
    for (const call of calls)
      if (!streamed.has(call.id)) this.#call(call, id)
      else if (isWritten(call, streamed.get(call.id))) streamed.delete(call.id)
    for (const part of message.parts)
      if (part.type === 'data' || part.type === 'link')
        this.#send('CUSTOM', { name: 'file', value: fileOf(part) })
    for (const value of sourcesOf(message)) this.#send('CUSTOM', { name: 'source', value })
    const toolCalls = calls.map(({ id: callId, name, arguments: args }) => ({
      id: callId,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }))
    this.#messages.push({
      id,
      role: 'assistant',
      content: textOf(message),
      ...(toolCalls.length > 0 && { toolCalls }),
    })
    // A call that was shown is not in the answer, or has another id or other arguments there.
    if (streamed.size > 0) this.#send('MESSAGES_SNAPSHOT', { messages: this.#messages })
  }

  #callDelta({ index, id, name, arguments: text }: TurnEvent & { type: 'callDelta' }): void {
    const call = this.#streaming.get(index) ?? { id: '', name: '', isBegun: false, text: '' }
    this.#streaming.set(index, call)
    call.id ||= id ?? ''
    call.name ||= name ?? ''
    call.text += text
    const isNew = !call.isBegun
    // Two calls may be streamed under one id: the whole calls have different ones.
    if (isNew && (call.id === '' || call.name === '' || this.#calls.has(call.id))) return
    if (isNew) {
      this.#close()
      this.#answerId ??= newId()
      this.#beginCall(call, this.#answerId)
      call.isBegun = true
    }
    const delta = isNew ? call.text : text
    if (delta !== '') this.#send('TOOL_CALL_ARGS', { toolCallId: call.id, delta })
  }

  /** Ends the calls that are being streamed. Without shown arguments, a client sees a call without arguments. */
  #endCalls(): StreamedCall[] {
    const begun = [...this.#streaming.values()].filter(({ isBegun }) => isBegun)
    this.#streaming.clear()
    for (const { id: toolCallId, text } of begun) {
      if (text.trim() === '') this.#send('TOOL_CALL_ARGS', { toolCallId, delta: '{}' })
      this.#send('TOOL_CALL_END', { toolCallId })
    }
    return begun
  }

  #call(call: ToolCallPart, parentMessageId?: string): void {
    const { id: toolCallId } = call
    this.#beginCall(call, parentMessageId)
    this.#send('TOOL_CALL_ARGS', { toolCallId, delta: JSON.stringify(call.arguments) })
    this.#send('TOOL_CALL_END', { toolCallId })
  }

  #beginCall({ id: toolCallId, name }: Pick<ToolCallPart, 'id' | 'name'>, parentMessageId?: string): void {
    this.#calls.add(toolCallId)
    this.#send('TOOL_CALL_START', {
      toolCallId,
      toolCallName: name,
      ...(parentMessageId !== undefined && { parentMessageId }),
    })
  }

  #result(result: ToolResultPart): void {
    this.#followsResults = true
    const { id: toolCallId } = result
    if (this.#results.has(toolCallId)) return
    this.#results.add(toolCallId)
    const message = { toolCallId, content: this.#contentOf(result), role: 'tool' }
    const messageId = newId()
    this.#send('TOOL_CALL_RESULT', { messageId, ...message })
    this.#messages.push({ id: messageId, ...message })
  }

  #contentOf(result: ToolResultPart): JsonValue {
    if (!result.isError || result.rejected) return contentOf(result)
    return JSON.stringify({ error: shownErrorOf(result, this.#options.showError) })
  }

  /** Removes the shown part of an answer that starts over. */
  #restart(): void {
    this.#close()
    for (const { id } of this.#endCalls()) this.#calls.delete(id)
    this.#answerId = undefined
    this.#send('MESSAGES_SNAPSHOT', { messages: this.#messages })
  }

  #waits(calls: readonly PendingCall[]): void {
    const asked = calls.filter(({ kind }) => kind !== 'answer')
    // The state of the thread, for clients that show it again later.
    if (asked.length > 0) this.#send('MESSAGES_SNAPSHOT', { messages: this.#messages })
    // A call of a sub-agent: the client has not seen it.
    for (const call of calls) if (call.id.includes('/') && !this.#calls.has(call.id)) this.#call(call)
    // A client keeps this value with the call, and sends it back with the result.
    for (const { kind, id, question } of calls)
      if (kind === 'answer' && question !== undefined)
        this.#send('REASONING_ENCRYPTED_VALUE', {
          subtype: 'tool-call',
          entityId: id,
          encryptedValue: question,
        })
    if (asked.length === 0) this.#finish({ type: 'success' })
    else this.#finish({ type: 'interrupt', interrupts: asked.map(interruptFor) })
  }

  #finish(outcome: JsonObject, usage?: Usage): void {
    this.#close()
    const used = usage && { usage: [usageOf(usage)] }
    this.#send('RUN_FINISHED', { ...this.#run, outcome, ...used })
  }
}

/** Says whether a call has the arguments that were shown while it was written. */
const isWritten = (call: ToolCallPart, text = ''): boolean => {
  const shown = parseArguments(text)
  const isBroken = shown.argumentsError !== undefined && call.argumentsError === undefined
  return !isBroken && stableJson(shown.arguments) === stableJson(call.arguments)
}

const interruptFor = (call: PendingCall): JsonObject => ({
  id: questionIdOf(call),
  reason: 'tool_call',
  toolCallId: call.id,
  message: call.inDoubt
    ? `${call.name} was running when its process ended: approve it to run it again.`
    : `Approve the call of ${call.name}?`,
  responseSchema: {
    type: 'object',
    properties: {
      approved: { type: 'boolean' },
      reason: { type: 'string' },
      editedArgs: { type: 'object' },
    },
    required: ['approved'],
  },
})

const contentOf = ({ result, parts }: ToolResultPart): JsonValue => {
  if (!parts) return result
  const media = parts.map((part): JsonObject => {
    const { mimeType = 'application/octet-stream' } = part
    const [kind = ''] = mimeType.split('/')
    const source =
      part.type === 'data'
        ? { type: 'data', value: part.data, mimeType }
        : { type: 'url', value: part.url, mimeType }
    return { type: ['image', 'audio', 'video'].includes(kind) ? kind : 'document', source }
  })
  return result === '' ? media : [{ type: 'text', text: result }, ...media]
}

const usageOf = ({ cost: _, cacheWriteTokens, ...usage }: Usage): JsonObject => ({
  ...usage,
  ...(cacheWriteTokens !== undefined && { cacheWriteInputTokens: cacheWriteTokens }),
})
