import type { ErrorData } from '../messages/errors.ts'

/**
 * The most that a server may send: one event, in characters; and in bytes, after decompression, a whole stream, an answer
 * that is read as one document (embeddings, lists of models), and the body of an error.
 */
export type Limits = {
  maxEventSize: number
  maxResponseSize: number
  maxDocumentSize: number
  maxErrorBodySize: number
}

const mebibyte = 1024 * 1024

/** Limits far below the longest string of a runtime, which is 512 Mi characters, and below what a parsed document does to a heap. */
export const defaultLimits: Limits = {
  maxEventSize: 64 * mebibyte,
  maxResponseSize: 256 * mebibyte,
  maxDocumentSize: 64 * mebibyte,
  maxErrorBodySize: 64 * 1024,
}

export const eventTooLarge = (limit: number): ErrorData => ({
  name: 'ModelError',
  message: `The server sent an event larger than the limit of ${limit} characters (connection.limits.maxEventSize).`,
  code: 'event_too_large',
  retryable: false,
})

/** `name` is that of the limit. */
export const responseTooLarge = (limits: Limits, name: 'maxResponseSize' | 'maxDocumentSize'): ErrorData => ({
  name: 'ModelError',
  message: `The server sent more than the limit of ${limits[name]} bytes (connection.limits.${name}).`,
  code: 'response_too_large',
  retryable: false,
})
