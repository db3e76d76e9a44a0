import type { ErrorData } from '../messages/errors.ts'
import type { Failure } from './Operation.ts'

const longestMessage = 2_000
/** A user's model may fail with any name. */
const longestType = 64

/**
 * An error as a span shows it. Its type is the status of an HTTP answer or the class. Its message may quote what was
 * asked or answered, so that it is shown only where content is.
 */
export const failureOf = (
  { name, status, message }: Pick<ErrorData, 'name' | 'status' | 'message'>,
  show: ((text: string) => string) | undefined,
): Failure => ({
  type: status === undefined ? name.slice(0, longestType) : String(status),
  message: show?.(message).slice(0, longestMessage),
})
