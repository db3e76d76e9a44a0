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
