import type { ErrorData } from '../../src/messages/errors.ts'
import { type Circumstances, contextOverflow, overflowOf } from './contextOverflow.ts'
import type { WireError } from './protocol.ts'

const retryableStatus = new Set([408, 409, 429])

/** Whether an HTTP status is worth another try: 408, 409, 429 and everything from 500 on. */
export const isRetryableStatus = (status: number): boolean => retryableStatus.has(status) || status >= 500

/** An account without money: OpenAI says so with the status of a rate limit, but no wait will help. */
const finalWords: ReadonlySet<string> = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
])

const isFinal = ({ code = '', type = '' }: WireError): boolean => finalWords.has(code) || finalWords.has(type)

/** An error of the provider as data; `mayPass` is what its status, or its place in a stream, says about another try. */
export const modelError = (
  error: WireError,
  { mayPass, ...circumstances }: Circumstances & { mayPass: boolean },
): ErrorData => {
  const { status } = circumstances
  const overflow = overflowOf(error, circumstances)
  const code = overflow ? contextOverflow : error.code
  const waitMs = overflow ? undefined : error.retryAfterMs
  return {
    name: 'ModelError',
    message: error.message,
    retryable: mayPass && !overflow && !isFinal(error),
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(error.requestId !== undefined && { requestId: error.requestId }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    ...overflow,
  }
}

/**
 * The error of an error event inside a 200 stream. Providers put the HTTP status they would have answered with into
 * `code` (429, 502 …) or a word (`overloaded_error`, `rate_limit_exceeded`, `server_error`).
 */
export const streamError = (
  error: WireError,
  known: { status?: number | undefined; mayPass?: boolean } = {},
): ErrorData => {
  const status = known.status ?? statusIn(error.code)
  const mayPass = known.mayPass ?? (status === undefined ? isPassing(error) : isRetryableStatus(status))
  return modelError(error, { status, mayPass })
}

export const statusIn = (code = ''): number | undefined =>
  /^[45]\d\d$/.test(code) ? Number(code) : undefined

const passing =
  /overloaded|rate_?limit|server_error|api_error|unavailable|timeout|internal|exhausted|capacity/i

/** Whether the words of an error event say that it may pass. */
export const isPassing = ({ code = '', type = '' }: WireError): boolean => passing.test(`${code} ${type}`)

/** The error of an answer that stopped because the window was full: the same as a request that does not fit. */
export const windowReached = (reason: string): ErrorData =>
  modelError(
    { message: `The model's context window is full (${reason}).`, code: 'model_context_window_exceeded' },
    { mayPass: false },
  )
