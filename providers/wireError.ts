import type { ErrorData } from '../src/messages/errors.ts'
import type { WireError } from './protocol.ts'

const retryableStatus = new Set([408, 409, 429])

/** Whether an HTTP status is worth another try: 408, 409, 429 and everything from 500 on. */
export const isRetryableStatus = (status: number): boolean => retryableStatus.has(status) || status >= 500

/**
 * The error of an error event inside a 200 stream. Providers put the HTTP status they would have answered with into
 * `code` (429, 502 …) or a word (`overloaded_error`, `rate_limit_exceeded`, `server_error`).
 */
export const streamError = (error: WireError): ErrorData => {
  const status = error.code !== undefined && /^[45]\d\d$/.test(error.code) ? Number(error.code) : undefined
  const retryable =
    status !== undefined
      ? isRetryableStatus(status)
      : /overloaded|rate_?limit|server_error|api_error|unavailable|timeout|internal|exhausted|capacity/i.test(
          `${error.code ?? ''}`,
        )
  return {
    name: 'ModelError',
    message: error.message,
    retryable,
    ...(status !== undefined && { status }),
    ...(error.code !== undefined && { code: error.code }),
    ...(error.requestId !== undefined && { requestId: error.requestId }),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
  }
}
