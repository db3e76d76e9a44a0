import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { attribute, type OperationName, scope } from './conventions.ts'
import type { Meters } from './Meters.ts'

/** Why an operation failed: a word of which there are few, and a text where content may be shown. */
export type Failure = { type: string; message?: string | undefined }

export type OperationOptions = {
  /** What the conventions call it; a wait for people has no name there, and is not measured. */
  operation?: OperationName
  /** Whom or what: the rest of the span's name. */
  of?: string | undefined
  /** The operation that it is a part of. */
  above?: Operation | undefined
  attributes: Attributes
  /** Those of its attributes that its measurements have, too. */
  measured?: Attributes
  meters?: Meters | undefined
}

/** Something that takes time: a span, and a measurement when it ends. What is still open below it then ends with it. */
export class Operation {
  /** What is done for it belongs here. */
  readonly context: Context
  /** What happens around it belongs here. */
  readonly outside: Context
  readonly #span: Span
  readonly #options: OperationOptions
  readonly #below = new Set<Operation>()
  readonly #begun = performance.now()
  #measured: Attributes
  #isOpen = true

  constructor(options: OperationOptions) {
    const { operation, above, attributes, measured } = options
    const named = operation && { [attribute.operation]: operation }
    this.#options = options
    this.#measured = { ...named, ...measured }
    this.outside = above?.context ?? context.active()
    const tracer = trace.getTracerProvider().getTracer(scope.name, undefined, { schemaUrl: scope.schemaUrl })
    const kind = operation === 'chat' ? SpanKind.CLIENT : SpanKind.INTERNAL
    const begin = { kind, attributes: { ...attributes, ...this.#measured } }
    this.#span = tracer.startSpan(nameOf(options), begin, this.outside)
    this.context = trace.setSpan(this.outside, this.#span)
    if (above) above.#below.add(this)
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Whether a backend records it. */
  get isRecording(): boolean {
    return this.#isOpen && this.#span.isRecording()
  }

  /** The attributes that measurements have. */
  get measured(): Attributes {
    return this.#measured
  }

  rename(of: string): void {
    this.#span.updateName(nameOf({ ...this.#options, of }))
  }

  describe(attributes: Attributes): void {
    this.#span.setAttributes(attributes)
  }

  /** The same for what measurements have, too. */
  describeMeasured(attributes: Attributes): void {
    this.#measured = { ...this.#measured, ...attributes }
    this.describe(attributes)
  }

  event(name: string, attributes: Attributes): void {
    this.#span.addEvent(name, attributes)
  }

  end(failure?: Failure): void {
    if (!this.#isOpen) return
    for (const each of this.#below) each.end()
    this.#isOpen = false
    const { operation, above, meters } = this.#options
    if (above) above.#below.delete(this)
    if (failure) {
      const { type, message } = failure
      this.describeMeasured({ [attribute.errorType]: type })
      this.#span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
    }
    this.#span.end()
    if (operation) meters?.duration((performance.now() - this.#begun) / 1000, this.#measured)
  }
}

const nameOf = ({ operation, of }: OperationOptions): string =>
  [operation ?? 'wait', ...(of === undefined ? [] : [of])].join(' ')
