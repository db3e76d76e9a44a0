import type { AgentCommand } from '../../machines/agent/events.ts'
import { areLimits, limitId } from '../../machines/agent/limits.ts'
import { answer, approval, waitingCall } from '../agent/runDecisions.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject } from '../messages/json.ts'
import type { PendingCall } from '../messages/result.ts'

/** More characters than any decision of a person or result of a tool needs. */
const longestCommand = 16 * 1024 * 1024

/**
 * Checks a command for a stored run. `enqueued`: commands that the run has not seen yet; the calls that they decide on
 * are not decided on again.
 */
export const checkStoredCommand = (
  given: unknown,
  { id, status, pending }: { id: string; status: unknown; pending: readonly PendingCall[] },
  enqueued: readonly unknown[],
): AgentCommand => {
  if (status !== 'running' && status !== 'waiting')
    throw new ConfigurationError(`The run "${id}" is over (${String(status)}): start a new one, or fork it.`)
  const decided = new Set(enqueued.map((command) => (isJsonObject(command) ? command.callId : undefined)))
  return checkCommand(
    given,
    pending.filter((call) => !decided.has(call.id)),
  )
}

/** Says whether a command that was enqueued still applies: its call may have been decided on since. */
export const isApplicable = (command: AgentCommand, pending: readonly PendingCall[]): boolean => {
  try {
    checkCommand(command, pending)
    return true
  } catch {
    return false
  }
}

/** Checks a command for a run that waits for these calls, and returns it as plain data. It may come from a browser. */
export const checkCommand = (given: unknown, pending: readonly PendingCall[]): AgentCommand => {
  const command = plainData(given)
  if (!isJsonObject(command)) throw new ConfigurationError('A command is an object with a type.')
  const { type, callId, reason } = command
  switch (type) {
    case 'abort':
      return { type, ...optionalText('reason', reason) }
    case 'steer':
      return { type, text: text('text', command.text) }
    case 'tool.approve': {
      const { id } = waitingCall(pending, text('callId', callId), 'approval')
      return { ...approval(id, command), ...exceptions(command.except) }
    }
    case 'tool.reject': {
      const { id } = waitingCall(pending, text('callId', callId))
      return { type, callId: id, ...optionalText('reason', reason) }
    }
    case 'tool.answer': {
      const call = waitingCall(pending, text('callId', callId), 'answer')
      return answer(call, command.result, command.isError)
    }
    case 'compact':
      return { type }
    case 'limit.raise': {
      atLimit(pending)
      const { limits } = command
      if (limits === undefined) return { type }
      if (!areLimits(limits)) throw new ConfigurationError('limits must be amounts, such as { cost: 5 }.')
      return { type, limits }
    }
    case 'limit.stop':
      atLimit(pending)
      return { type }
    default:
      throw new ConfigurationError(
        `${JSON.stringify(type) ?? 'undefined'} is not a command: use abort, steer, compact, tool.approve, tool.reject, tool.answer, limit.raise or limit.stop.`,
      )
  }
}

const atLimit = (pending: readonly PendingCall[]): void => {
  if (!pending.some(({ id, kind }) => kind === 'limit' && id === limitId))
    throw new ConfigurationError('The run is not at a limit.')
}

const plainData = (given: unknown): unknown => {
  try {
    const copy = copyJson(given)
    if (JSON.stringify(copy).length <= longestCommand) return copy
  } catch (cause) {
    throw new ConfigurationError(`The command is not JSON: it holds ${describeThrown(cause)}.`, { cause })
  }
  throw new ConfigurationError(`The command is longer than ${longestCommand} characters.`)
}

const text = (name: string, value: unknown): string => {
  if (typeof value === 'string') return value
  throw new ConfigurationError(`The ${name} of the command must be a string.`)
}

const optionalText = (name: 'reason', value: unknown): { reason?: string } =>
  value === undefined ? {} : { [name]: text(name, value) }

const exceptions = (except: unknown): { except?: string[] } => {
  if (except === undefined) return {}
  if (!Array.isArray(except)) throw new ConfigurationError('except must be a list of call ids.')
  return { except: except.map((id) => text('except', id)) }
}
