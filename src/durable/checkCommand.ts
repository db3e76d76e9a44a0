import type { AgentCommand } from '../../machines/agent/events.ts'
import { checkCommand } from '../agent/commands.ts'
import { ConfigurationError } from '../messages/errors.ts'
import type { PendingCall } from '../messages/result.ts'
import type { RunSummary } from './sqlite/RunRows.ts'
import type { OpenStore } from './sqlite/sqlite.ts'
import { isAtEnd } from './standing.ts'

/** A command that a stored run can take. What another process has decided on is not decided on again. */
export const checkStored = ({ commands, runs }: OpenStore, run: RunSummary, given: unknown): AgentCommand => {
  if (run.status !== 'running' && run.status !== 'waiting')
    throw new ConfigurationError(`The run "${run.id}" is over (${run.status}): start a new one, or fork it.`)
  const decided = new Set(commands.of(run.n).map(({ command }) => callOf(command)))
  const open = run.pending.filter((call) => !decided.has(call.id))
  const command = checkCommand(given, open)
  // Its process died between the end of the last run that it is made of and its own: it takes no more commands.
  const { snapshot } = Object(JSON.parse(runs.byNumber(run.n)?.head ?? '{}'))
  if (command.type === 'steer' && isAtEnd(snapshot))
    throw new ConfigurationError(`The run "${run.id}" is about to end, and can no longer be steered.`)
  return command
}

/** Whether a command that was stored is still of use: what it is about may have been decided on since. */
export const isUseful = (command: AgentCommand, pending: readonly PendingCall[]): boolean => {
  try {
    checkCommand(command, pending)
    return true
  } catch {
    return false
  }
}

const callOf = (command: AgentCommand): string | undefined =>
  'callId' in command ? command.callId : undefined
