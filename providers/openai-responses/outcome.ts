import type { ErrorData } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { FinishReason, Usage } from '../../src/messages/result.ts'
import { chatUsage } from '../openai-chat/usage.ts'
import { streamError } from '../wire/wireError.ts'
import { objectAt, stringAt } from '../wire/wireJson.ts'
import { responsesError } from './error.ts'

/** How a response ended. */
export type End = 'completed' | 'incomplete' | 'failed' | 'cancelled'

const ends: readonly string[] = ['completed', 'incomplete', 'failed', 'cancelled'] satisfies End[]
const isEnd = (word: string | undefined): word is End => word !== undefined && ends.includes(word)

/** A server that does not stream answers with the response itself. */
export const isResponse = (body: JsonObject): boolean =>
  body.object === 'response' || (Array.isArray(body.output) && typeof body.status === 'string')

/** The end that an event reports, or undefined while the response continues. Of the two, the status is more precise. */
export const endOf = (type: string, response: JsonObject): End | undefined => {
  const status = stringAt(response, 'status')
  if (hasError(response) || status === 'failed') return 'failed'
  const word = type.startsWith('response.') ? type.slice('response.'.length) : undefined
  if (word === 'completed' || word === 'done') return isEnd(status) ? status : 'completed'
  if (isEnd(word)) return word
  return word === undefined && isEnd(status) ? status : undefined
}

const hasError = (response: JsonObject): boolean => Object.keys(objectAt(response, 'error') ?? {}).length > 0

/** The error of a response that failed; older servers put it beside the response. */
export const failureOf = (end: End, response: JsonObject, event: JsonObject): ErrorData => {
  const told = hasError(response) ? responsesError(response) : responsesError({ error: event.error ?? null })
  return streamError(told ?? { message: `The response was ${end} by the provider.`, code: end })
}

/**
 * The error in an event that is not about a response. Events of unknown types are none, even if they have a message;
 * an untyped body with a message is one.
 */
export const errorIn = (type: string, event: JsonObject): ErrorData | undefined => {
  const isErrorType = type === 'error' || type === 'response.error'
  const isOther = type.startsWith('response.') || (Object.hasOwn(event, 'type') && !event.error)
  if (isOther && !isErrorType) return undefined
  const error = responsesError(isErrorType ? { ...event, type: 'error' } : event)
  return error && streamError(error)
}

export const finishReasonOf = (
  end: End,
  response: JsonObject,
  hasCalls: boolean,
  isRefused: boolean,
): FinishReason => {
  if (isRefused) return 'contentFilter'
  const cause = stringAt(objectAt(response, 'incomplete_details'), 'reason')
  if (cause === 'content_filter') return 'contentFilter'
  // The answer was cut, for one limit or another.
  if (end === 'incomplete' || cause === 'max_output_tokens') return 'length'
  return hasCalls ? 'toolCalls' : 'stop'
}

/** OpenRouter gives the cost here as well. */
export const usageOf = (response: JsonObject): Usage | undefined => chatUsage(objectAt(response, 'usage'))
