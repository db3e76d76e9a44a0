import type { Attributes } from '@opentelemetry/api'
import type { AnyMachineSnapshot } from 'xstate'
import type { AgentOutput } from '../../machines/agent/events.ts'
import { type ErrorData, errorDataOf } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { ChatModel } from '../model/chatModel.ts'
import { redact } from '../transport/redact.ts'
import { messagesContent } from './content.ts'
import { attribute, content, finishReasons, own, providerName } from './conventions.ts'
import { type Failure, type Meters, Operation, type OperationOptions } from './Operation.ts'

type AgentTraceOptions = {
  name: string | undefined
  runId: string | undefined
  above: Operation | undefined
  /** Attributes of every span of the run. */
  attributes: Attributes
  captureContent: boolean
  meters: Meters | undefined
}

/** The whole of a run, with all of its charts: the parent of all its other spans. */
export class AgentTrace {
  readonly operation: Operation
  readonly meters: Meters | undefined
  readonly #attributes: Attributes
  readonly #captureContent: boolean
  #provider: Attributes | undefined
  #hideOwn = (text: string) => text

  constructor({ name, runId, above, attributes, captureContent, meters }: AgentTraceOptions) {
    this.#captureContent = captureContent
    this.meters = meters
    this.#attributes = attributes
    this.operation = new Operation({
      operation: 'invoke_agent',
      of: name,
      above,
      attributes: { ...attributes, ...(runId !== undefined && { [own.runId]: runId }) },
      measured: name === undefined ? {} : { [attribute.agent]: name },
      meters,
    })
  }

  /** Begins an operation of the run. */
  begin({ attributes, measured, ...options }: Omit<OperationOptions, 'above' | 'meters'>): Operation {
    const { meters, operation: above } = this
    return new Operation({
      ...options,
      above,
      meters,
      attributes: { ...this.#attributes, ...attributes },
      ...(measured && { measured: { ...this.#provider, ...measured } }),
    })
  }

  /** Takes the function that hides credentials, which only the models know. */
  keepSecret(hide: (text: string) => string): void {
    this.#hideOwn = hide
  }

  /** Takes the provider of the run, which is that of its first request. */
  ask({ provider }: Pick<ChatModel, 'provider'>): void {
    if (this.#provider) return
    this.#provider = { [attribute.provider]: providerName(provider) }
    this.operation.describeMeasured(this.#provider)
  }

  /** Takes the name of the agent. Its actor has another id if a user's machine invokes it. */
  rename(name: string): void {
    this.operation.rename(name)
    this.operation.describeMeasured({ [attribute.agent]: name })
  }

  /** True if content is to be recorded, and a backend stores it. */
  shows(operation: Operation): boolean {
    return this.#captureContent && operation.isRecording
  }

  /** Removes secrets from a text. A text that cannot be searched for them is replaced as a whole. */
  readonly hide = (text: string): string => {
    try {
      return redact(this.#hideOwn(text), [])
    } catch {
      return '***'
    }
  }

  failure(error: Pick<ErrorData, 'name' | 'status' | 'message'>): Failure {
    return failureOf(error, this.#captureContent ? this.hide : undefined)
  }

  /** Ends the trace, because the run has ended or is no longer waited for. */
  end(snapshot: AnyMachineSnapshot): void {
    if (!this.operation.isOpen) return
    const { status, failure } = this.#outcomeOf(snapshot)
    this.operation.describe({ [own.runStatus]: status })
    if (this.shows(this.operation) && isOutput(snapshot.output)) this.#describeOutput(snapshot.output)
    this.operation.end(failure)
  }

  #outcomeOf(snapshot: AnyMachineSnapshot): { status: string; failure?: Failure } {
    const { status, output, error } = snapshot
    if (status === 'error') return { status: 'failed', failure: this.failure(errorDataOf(error)) }
    // A run that waits without a caller is released: it continues from its snapshot, in another trace.
    if (status !== 'done') return { status: snapshot.tags?.has('waiting') ? 'waiting' : 'stopped' }
    if (!isOutput(output)) return { status: 'complete' }
    return output.status === 'failed'
      ? { status: output.status, failure: this.failure(output.error) }
      : { status: output.status }
  }

  #describeOutput({ messages, finishReason }: AgentOutput): void {
    const [asked] = messages
    const answer = messages.findLast(({ role }) => role === 'model')
    const finish = finishReasons[finishReason]
    if (asked && asked.role === 'user')
      this.operation.describe({ [content.input]: messagesContent([asked], this.hide).json })
    if (answer)
      this.operation.describe({ [content.output]: messagesContent([answer], this.hide, finish).json })
  }
}

/** Checks an output, because a user's chart may end with any value. */
const isOutput = (output: unknown): output is AgentOutput =>
  isJsonObject(output) && typeof output.status === 'string' && Array.isArray(output.messages)

const longestMessage = 2_000
/** Limits the name of an error, which a user's model may choose freely. */
const longestType = 64

/**
 * An error as a span shows it. Its type is the status of an HTTP answer or the class. Its message may quote prompts and
 * answers, so it is shown only where content is.
 */
export const failureOf = (
  { name, status, message }: Pick<ErrorData, 'name' | 'status' | 'message'>,
  show: ((text: string) => string) | undefined,
): Failure => ({
  type: status === undefined ? name.slice(0, longestType) : String(status),
  message: show?.(message).slice(0, longestMessage),
})
