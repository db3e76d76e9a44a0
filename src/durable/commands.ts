import type { AgentCommand } from '../../machines/agent/events.ts'
import { checkCommand } from '../agent/commands.ts'
import { ConfigurationError } from '../messages/errors.ts'
import { isJsonObject } from '../messages/json.ts'
import { unknownOption } from '../messages/optionRules.ts'
import type { PendingCall } from '../messages/result.ts'

/** A run that takes no more commands. */
export class RunOver extends ConfigurationError {}

/**
 * Checks a command for a stored run. `enqueued`: commands that the run has not seen yet; a second decision on their
 * calls is refused.
 */
export const checkStoredCommand = (
  given: unknown,
  { id, status, pending }: { id: string; status: unknown; pending: readonly PendingCall[] },
  enqueued: readonly unknown[],
): AgentCommand => {
  if (status !== 'running' && status !== 'waiting')
    throw new RunOver(`The run "${id}" is over (${String(status)}): start a new one, or fork it.`)
  const isAbort = (command: unknown) => isJsonObject(command) && command.type === 'abort'
  if (enqueued.some(isAbort) && !isAbort(given))
    throw new RunOver(`The run "${id}" is about to be aborted: start a new one, or fork it.`)
  checkFields(given)
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

type FieldsOf<Type> = Extract<AgentCommand, { type: Type }>

const commandFields: { [Type in AgentCommand['type']]: Record<keyof FieldsOf<Type>, true> } = {
  abort: { type: true, reason: true },
  message: { type: true, text: true, when: true, metadata: true },
  steer: { type: true, text: true },
  compact: { type: true },
  wake: { type: true, message: true },
  'tool.approve': { type: true, callId: true, question: true, arguments: true, remember: true },
  'tool.reject': { type: true, callId: true, question: true, reason: true },
  'tool.answer': { type: true, callId: true, question: true, result: true, isError: true },
  'task.command': { type: true, task: true, command: true },
}

/** Refuses a misspelled field: an approval without its arguments would run the call as the model wrote it. */
const checkFields = (command: unknown): void => {
  const { type }: { type?: unknown } = Object(command)
  const [, known] = Object.entries(commandFields).find(([name]) => name === type) ?? []
  const unknown = known && unknownOption(`The command ${type}`, Object(command), known)
  if (unknown !== undefined) throw new ConfigurationError(unknown)
  if (type === 'task.command') checkFields(Object(command).command)
}

/** Says whether an enqueued command still applies: its call may already have a decision. */
export const isApplicable = (command: AgentCommand, pending: readonly PendingCall[]): boolean => {
  try {
    checkCommand(command, pending)
    return true
  } catch {
    return false
  }
}

type Enqueued = { command: AgentCommand }

/** The commands that are not about a call: messages to a run or one of its tasks, and aborts. */
export const withoutDecisions = <Command extends Enqueued>(commands: readonly Command[]): Command[] =>
  commands.filter(({ command }) => !('callId' in command))

/** Puts the decisions last: one of them may end the run, and then it takes nothing more. */
export const decisionsLast = <Command extends Enqueued>(commands: readonly Command[]): Command[] => [
  ...new Set([...withoutDecisions(commands), ...commands]),
]
