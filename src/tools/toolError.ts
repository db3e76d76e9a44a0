import { describeThrown, isOwnError, ToolExecutionError } from '../messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import { emitWarning, isDevelopment } from '../messages/warn.ts'
import { redact } from '../transport/redact.ts'
import { isThenable } from './isThenable.ts'
import { errorResult } from './toolResult.ts'

/** Called with each exception of a tool: `cause` is the thrown value, with its class and stack. */
export type OnToolError = (error: ToolExecutionError, call: ToolCallPart) => unknown

/** Exceptions by the results that the model sees. They are beside the results, because a run stores only JSON. */
const errors = new WeakMap<ToolResultPart, ToolExecutionError>()

/** The exception that a result was made of; undefined for any other result, and after the result was stored. */
export const errorOf = (result: ToolResultPart): ToolExecutionError | undefined => errors.get(result)

/** Keeps an exception with a result. */
export const withError = (result: ToolResultPart, error: ToolExecutionError | undefined): ToolResultPart => {
  if (error) errors.set(result, error)
  return result
}

/**
 * The result of a call whose tool threw. `hide` removes credentials from the text for the model. A `ToolExecutionError`
 * is thrown on purpose, for the model, so it is not reported to the developer.
 */
export const thrownResult = (
  call: ToolCallPart,
  thrown: unknown,
  hide: (text: string) => string,
): ToolResultPart => {
  const problem = hidden(describeThrown(thrown), hide)
  const result = errorResult(call, problem)
  if (isOwnError(thrown) && thrown instanceof ToolExecutionError) return result
  return withError(result, new ToolExecutionError(problem, { toolName: call.name, cause: thrown }))
}

/** Hides credentials. A text that cannot be searched for them is not shown. */
const hidden = (problem: string, hide: (text: string) => string): string => {
  try {
    return redact(hide(problem), [])
  } catch {
    return 'The tool failed.'
  }
}

/** The stack of an exception, or else its text, without credentials. */
export const stackOf = ({ cause, message }: ToolExecutionError, hide: (text: string) => string): string =>
  hidden(stackIn(cause) ?? message, hide)

/** The stack, with those of its causes: `fetch failed` alone says nothing. */
const stackIn = (thrown: unknown, depth = 0): string | undefined => {
  try {
    const { stack, cause, errors } = Object(thrown)
    if (typeof stack !== 'string') return undefined
    const [inner = cause] = Array.isArray(errors) ? errors : []
    const reason = depth < 4 ? stackIn(inner, depth + 1) : undefined
    return reason === undefined ? stack : `${stack}\n  caused by ${reason}`
  } catch {
    return undefined
  }
}

/** Reports an exception to the agent's `onToolError`, which cannot break the run. */
export const reportToolError = (
  onToolError: OnToolError,
  error: ToolExecutionError | undefined,
  call: ToolCallPart,
): void => {
  if (!error) return
  const warn = (thrown: unknown) => emitWarning(`onToolError threw: ${describeThrown(thrown)}`)
  try {
    const returned = onToolError(error, call)
    if (isThenable(returned)) Promise.resolve(returned).catch(warn)
  } catch (thrown) {
    warn(thrown)
  }
}

/** Shows the stack of an exception in development: the model sees its message alone. An error of this library says enough. */
export const warnOfToolError =
  (hide: (text: string) => string): OnToolError =>
  (error) => {
    if (!isDevelopment() || isOwnError(error.cause)) return
    const text = `The tool "${error.toolName}" threw. The model sees the message; onToolError gets the error.`
    emitWarning(text, stackOf(error, hide))
  }
