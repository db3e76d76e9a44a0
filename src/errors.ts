import type { ChatResult } from './result.ts'

/** An error as plain data: what the statechart keeps in its context, and what a snapshot can store. */
export type ErrorData = {
  name: ErrorName
  message: string
  /** `provider`, `status`, `code`, `requestId`, `retryable`, `retryAfterMs` belong to model errors. */
  provider?: string
  status?: number
  code?: string
  requestId?: string
  retryable?: boolean
  retryAfterMs?: number
  /** Where the run was: set on orchestration errors. */
  orchestrator?: string
  state?: string
  toolName?: string
  /** The text that failed validation: set on output validation errors. */
  rawOutput?: string
  cause?: { name: string; message: string; code?: string }
}

export type ErrorName =
  | 'StatewireError'
  | 'ConfigurationError'
  | 'ModelError'
  | 'OrchestrationError'
  | 'ToolExecutionError'
  | 'OutputValidationError'
  | 'AbortedError'
  | 'TimeoutError'

/** The root of everything statewire throws. `name` is the class name; `partial` is what the run had so far. */
export class StatewireError extends Error {
  override readonly name: ErrorName = 'StatewireError'
  readonly partial: ChatResult | undefined

  constructor(message: string, options: { cause?: unknown; partial?: ChatResult | undefined } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.partial = options.partial
  }
}

/** The caller's setup is wrong: an unknown provider, a missing key, an attachment the model cannot read. */
export class ConfigurationError extends StatewireError {
  override readonly name = 'ConfigurationError'
}
