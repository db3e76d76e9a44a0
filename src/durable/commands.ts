import type { AgentCommand } from '../../machines/agent/events.ts'
import { checkCommand } from '../agent/commands.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import type { PendingCall } from '../messages/result.ts'

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
  const isDecided = ({ id: callId, question }: PendingCall) =>
    enqueued.some(
      (command) =>
        isJsonObject(command) &&
        command.callId === callId &&
        (command.question === undefined || question === undefined || command.question === question),
    )
  return checkCommand(
    given,
    pending.filter((call) => !isDecided(call)),
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
