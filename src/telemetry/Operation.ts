import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  type MeterProvider,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { ToolExecutionError } from '../messages/errors.ts'
import type { Usage } from '../messages/result.ts'
import { attribute, metric, type OperationName, scope } from './conventions.ts'

/** The reason why an operation failed: one of a few types, and a text where content may be shown. */
export type Failure = { type: string; message?: string | undefined }

export type OperationOptions = {
  /** The name in the conventions. A wait for people has none, and is not measured. */
  operation?: OperationName
  /** The rest of the span's name: the agent, the model or the tool. */
  of?: string | undefined
  /** The operation that it is a part of. */
  above?: Operation | undefined
  attributes: Attributes
  /** Attributes that the measurements have, too. */
  measured?: Attributes
  meters?: Meters | undefined
}

/** A span, and a measurement when it ends. Operations below it that are still open end with it. */
export class Operation {
  /** The context of the work that is done for it. */
  readonly context: Context
  /** The context of the code around it. */
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
    const isRequest = operation === 'chat' || operation === 'embeddings'
    const kind = isRequest ? SpanKind.CLIENT : SpanKind.INTERNAL
    const begin = { kind, attributes: { ...attributes, ...this.#measured } }
    this.#span = tracer.startSpan(nameOf(options), begin, this.outside)
    this.context = trace.setSpan(this.outside, this.#span)
    if (above) above.#below.add(this)
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** True if a backend records it. */
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

  /** Adds attributes to the span and to its measurements. */
  describeMeasured(attributes: Attributes): void {
    this.#measured = { ...this.#measured, ...attributes }
    this.describe(attributes)
  }

  event(name: string, attributes: Attributes): void {
    this.#span.addEvent(name, attributes)
  }

  /** Records an exception of a tool. Its texts are content: they are only there with a `stack`. */
  exception({ message, cause }: ToolExecutionError, stack: string | undefined): void {
    const name = cause instanceof Error ? cause.name : typeof cause
    this.#span.recordException({ name, ...(stack !== undefined && { message, stack }) })
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

type Histograms = Record<keyof typeof metric, Histogram>

/** The histograms of all runs. */
export class Meters {
  readonly #made = new WeakMap<MeterProvider, Histograms>()

  duration(seconds: number, attributes: Attributes): void {
    this.#histograms.duration.record(seconds, attributes)
  }

  timeToFirstChunk(seconds: number, attributes: Attributes): void {
    this.#histograms.timeToFirstChunk.record(seconds, attributes)
  }

  tokens({ inputTokens, outputTokens }: Usage, attributes: Attributes): void {
    const { tokens } = this.#histograms
    if (inputTokens !== undefined)
      tokens.record(inputTokens, { ...attributes, [attribute.tokenType]: 'input' })
    if (outputTokens !== undefined)
      tokens.record(outputTokens, { ...attributes, [attribute.tokenType]: 'output' })
  }

  /** Looks them up each time: unlike a tracer, a meter that was made before there was an SDK never measures. */
  get #histograms(): Histograms {
    const provider = metrics.getMeterProvider()
    const made = this.#made.get(provider) ?? histogramsOf(provider)
    this.#made.set(provider, made)
    return made
  }
}

const histogramsOf = (provider: MeterProvider): Histograms => {
  const meter = provider.getMeter(scope.name, undefined, { schemaUrl: scope.schemaUrl })
  const histogram = ({ name, options }: (typeof metric)[keyof typeof metric]) =>
    meter.createHistogram(name, options)
  return {
    duration: histogram(metric.duration),
    timeToFirstChunk: histogram(metric.timeToFirstChunk),
    tokens: histogram(metric.tokens),
  }
}
