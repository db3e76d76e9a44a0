import type { ErrorData } from '../messages/errors.ts'
import type { ToolCallPart, ToolResultPart } from '../messages/messages.ts'
import { oneLine } from './paint.ts'

/** A call in one line: `calculator(expression: 2 + 3)`. */
export const callLine = ({ name, arguments: args, argumentsRaw }: ToolCallPart): string => {
  const entries = Object.entries(args).map(([key, value]) => `${key}: ${wordOf(value)}`)
  return oneLine(`${name}(${entries.join(', ') || argumentsRaw || ''})`)
}

/** A result in one line: `calculator → 2 + 3 = 5`. */
export const resultLine = ({ name, result, isError }: ToolResultPart): string =>
  oneLine(`${name} ${isError ? '✗' : '→'} ${result}`)

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const retryLine = ({ error, delayMs }: { error: ErrorData | null; delayMs: number }): string =>
  oneLine(`Trying again in ${(delayMs / 1000).toFixed(1)} s. ${error?.message ?? 'The answer did not fit.'}`)
