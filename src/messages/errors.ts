import type { ChatResult } from './result.ts'

/** The classes of errors, by name. */
type ErrorName =
  | 'StatewireError'
  | 'ConfigurationError'
  | 'ModelError'
  | 'OrchestrationError'
  | 'ToolExecutionError'
  | 'OutputValidationError'
  | 'AbortedError'
  | 'TimeoutError'
  | 'ConflictError'

/** An error as plain data: what the statechart keeps in its context, and what a snapshot can store. */
export type ErrorData = {
  name: ErrorName
  message: string
  /** The agent whose run it was, if it has a name. */
  agent?: string
  /** Set on model errors, like the fields below it. */
  provider?: string
  model?: string
  status?: number
  code?: string
  requestId?: string
  retryable?: boolean
  retryAfterMs?: number
  /** Set with the code `context_overflow`: the tokens that fit and those that were sent, if the provider gives them. */
  window?: number
  requested?: number
  /** The finish reason that the provider sent before it failed. */
  rawFinishReason?: string
  /** Set on orchestration errors: the chart, and the state it was in. */
  orchestrator?: string
  state?: string
  /** Set on tool errors. */
  toolName?: string
  /** Set on output validation errors: the text that did not fit. */
  rawOutput?: string
  cause?: { name: string; message: string; code?: string }
}

type ErrorOptions = {
  cause?: unknown
  partial?: ChatResult | undefined
  agent?: string | undefined
  code?: string | undefined
}

/**
 * The base class of all errors that statewire throws. `name` is the class name; `partial` is the result so far.
 *
 * @example
 * try {
 *   await agent.send('Hi')
 * } catch (error) {
 *   if (error instanceof StatewireError) console.error(error.name, error.partial?.output)
 * }
 */
export class StatewireError extends Error {
  override readonly name: ErrorName = 'StatewireError'
  /** The agent whose run it was, if it has a name. */
  readonly agent: string | undefined
  /**
   * The kind of failure in one word, if there is one: the provider's own word, or one of ours, such as
   * `policy_refused`.
   */
  readonly code: string | undefined
  /** The result so far. Not enumerable: an uncaught error is printed without the conversation. */
  declare readonly partial: ChatResult | undefined

  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.agent = options.agent
    this.code = options.code
    Object.defineProperty(this, 'partial', { value: options.partial })
  }
}

/** The caller's setup is wrong: an unknown provider, a missing key, an attachment the model cannot read. */
export class ConfigurationError extends StatewireError {
  override readonly name = 'ConfigurationError'
}

type ModelErrorFields = Pick<
  ErrorData,
  | 'provider'
  | 'model'
  | 'status'
  | 'requestId'
  | 'retryable'
  | 'retryAfterMs'
  | 'window'
  | 'requested'
  | 'rawFinishReason'
>

/** The provider failed: an HTTP error, an error event, a cut or garbled stream, a dead connection. */
export class ModelError extends StatewireError {
  override readonly name = 'ModelError'
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly status: number | undefined
  readonly requestId: string | undefined
  /** True if the same request may work later. */
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  /** The number of tokens that fit, in a `context_overflow`, if the provider gives it. */
  readonly window: number | undefined
  /** The number of tokens that were sent, output included, in a `context_overflow`, if the provider gives it. */
  readonly requested: number | undefined
  /** The finish reason that the provider sent before it failed. */
  readonly rawFinishReason: string | undefined

  constructor(message: string, options: ErrorOptions & ModelErrorFields = {}) {
    super(message, options)
    this.provider = options.provider
    this.model = options.model
    this.status = options.status
    this.requestId = options.requestId
    this.retryable = options.retryable ?? false
    this.retryAfterMs = options.retryAfterMs
    this.window = options.window
    this.requested = options.requested
    this.rawFinishReason = options.rawFinishReason
  }
}

/** The run itself broke, not the model and not a tool. */
export class OrchestrationError extends StatewireError {
  override readonly name = 'OrchestrationError'
  readonly orchestrator: string | undefined
  readonly state: string | undefined

  constructor(message: string, options: ErrorOptions & { orchestrator?: string; state?: string } = {}) {
    super(message, options)
    this.orchestrator = options.orchestrator
    this.state = options.state
  }
}

/** A tool could not be run. Inside a run this becomes an error result that the model sees. */
export class ToolExecutionError extends StatewireError {
  override readonly name = 'ToolExecutionError'
  readonly toolName: string | undefined

  constructor(message: string, options: ErrorOptions & { toolName?: string } = {}) {
    super(message, options)
    this.toolName = options.toolName
  }
}

/** The model's answer does not fit the schema; `rawOutput` is its text. */
export class OutputValidationError extends StatewireError {
  override readonly name = 'OutputValidationError'
  readonly rawOutput: string

  constructor(message: string, options: ErrorOptions & { rawOutput?: string } = {}) {
    super(message, options)
    this.rawOutput = options.rawOutput ?? ''
  }
}

/** The run was aborted, by its signal or by a command. */
export class AbortedError extends StatewireError {
  override readonly name = 'AbortedError'
}

/** A configured timeout ran out. */
export class TimeoutError extends StatewireError {
  override readonly name = 'TimeoutError'
}

/** An id is already in use for something else: the request was not a repetition. Nothing was changed. */
export class ConflictError extends StatewireError {
  override readonly name = 'ConflictError'
}

const classes = {
  StatewireError,
  ConfigurationError,
  ModelError,
  OrchestrationError,
  ToolExecutionError,
  OutputValidationError,
  AbortedError,
  TimeoutError,
  ConflictError,
} satisfies Record<ErrorName, new (message: string, options?: ErrorOptions) => StatewireError>

/** Rebuilds the typed error from its data, with the result so far. */
export const errorFrom = (data: ErrorData, partial?: ChatResult): StatewireError => {
  const { name, message, cause, ...fields } = data
  const causeError = cause && Object.assign(new Error(cause.message), cause)
  // A user's model may fail with an unknown error name.
  const ErrorClass = Object.hasOwn(classes, name) ? classes[name] : StatewireError
  return new ErrorClass(message, { ...fields, ...(causeError && { cause: causeError }), partial })
}

/** The fields of an error that are stored; other fields do not belong in a snapshot. */
const dataFields = [
  'agent',
  'provider',
  'model',
  'status',
  'code',
  'requestId',
  'retryable',
  'retryAfterMs',
  'window',
  'requested',
  'rawFinishReason',
  'orchestrator',
  'state',
  'toolName',
  'rawOutput',
] as const satisfies (keyof ErrorData)[]

/**
 * Any thrown value as data. A foreign error becomes `fallback`, with itself as the cause. Never throws, even if the
 * thrown value has getters that throw.
 */
export const errorDataOf = (thrown: unknown, fallback: ErrorName = 'OrchestrationError'): ErrorData => {
  try {
    if (thrown instanceof StatewireError) return { ...knownFields(thrown), ...namesOf(thrown) }
    if (thrown instanceof Error) {
      return { name: fallback, message: describeThrown(thrown), cause: causeDataOf(thrown) }
    }
  } catch {
    // Described below like anything else.
  }
  return { name: fallback, message: describeThrown(thrown) }
}

const namesOf = (error: StatewireError): ErrorData => ({
  name: error.name,
  message: String(error.message),
  ...(error.cause instanceof Error && { cause: causeDataOf(error.cause) }),
})

const knownFields = (error: StatewireError): Partial<ErrorData> => {
  const fields: Partial<ErrorData> = error as Partial<ErrorData>
  return Object.fromEntries(
    dataFields.flatMap((field) => {
      const value = fields[field]
      return ['string', 'number', 'boolean'].includes(typeof value) ? [[field, value]] : []
    }),
  )
}

const causeDataOf = (error: Error & { code?: unknown }): NonNullable<ErrorData['cause']> => ({
  name: String(error.name),
  message: String(error.message),
  ...(typeof error.code === 'string' && { code: error.code }),
})

/** Checks whether a thrown value is an error of statewire. Never throws itself. */
export const isOwnError = (thrown: unknown): thrown is StatewireError => {
  try {
    return thrown instanceof StatewireError
  } catch {
    return false
  }
}

/** A readable text for any thrown value; never throws itself. */
export const describeThrown = (thrown: unknown): string => {
  try {
    if (thrown instanceof Error) return String(thrown.message || thrown.name)
    if (typeof thrown === 'string') return thrown
    return jsonOf(thrown) ?? String(thrown)
  } catch {
    return `something that cannot be described (${typeof thrown})`
  }
}

const jsonOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
