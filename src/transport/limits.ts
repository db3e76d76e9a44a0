import type { ErrorData } from '../messages/errors.ts'

/** How much a server may send. Sizes of events are counted in characters, all others in bytes. */
export type Limits = { maxEventSize: number; maxResponseSize: number; maxErrorBodySize: number }

const mebibyte = 1024 * 1024

export const defaultLimits: Limits = {
  maxEventSize: 16 * mebibyte,
  maxResponseSize: 1024 * mebibyte,
  maxErrorBodySize: 64 * 1024,
}

export const eventTooLarge = (limit: number): ErrorData => ({
  name: 'ModelError',
  message: `The server sent an event larger than the limit of ${limit} characters (limits.maxEventSize).`,
  code: 'event_too_large',
  retryable: false,
})

export const responseTooLarge = (limit: number): ErrorData => ({
  name: 'ModelError',
  message: `The server sent more than the limit of ${limit} bytes (limits.maxResponseSize).`,
  code: 'response_too_large',
  retryable: false,
})
