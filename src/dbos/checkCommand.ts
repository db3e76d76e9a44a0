import type { AgentCommand } from '../../machines/events.ts'
import { ConfigurationError, OrchestrationError } from '../messages/errors.ts'
import { checkOptions, checkValue, oneOf, text } from '../messages/optionRules.ts'
import type { PendingCall } from '../messages/result.ts'

const anything = () => undefined

/** Refuses what a run cannot take: it is over, or waits for no such call. */
export const checkCommand = (
  command: AgentCommand,
  status: unknown,
  pending: readonly PendingCall[],
): void => {
  if (status !== 'running' && status !== 'waiting')
    throw new OrchestrationError(`The run is over (${String(status)}): start a new one, or fork it.`)
  if (!('callId' in command)) return
  const kind =
    command.type === 'tool.reject' ? undefined : command.type === 'tool.answer' ? 'answer' : 'approval'
  const call = pending.find(({ id }) => id === command.callId)
  // What becomes of a call in doubt may be said in any way.
  if (call && (kind === undefined || call.kind === kind || 'inDoubt' in call)) return
  const waiting = pending.map((each) => `${each.id} (${each.kind})`).join(', ')
  throw new ConfigurationError(
    `No call "${command.callId}" waits for an ${kind ?? 'approval or answer'}; ${waiting === '' ? 'nothing does.' : `pending are: ${waiting}.`}`,
  )
}

/** Refuses what is no command. */
export const checkIsCommand = (command: unknown): void => {
  checkOptions<{ type: string; callId: string; text: string; reason: string }>('A command', command, {
    type: oneOf('abort', 'steer', 'tool.approve', 'tool.reject', 'tool.answer'),
    callId: text,
    text,
    reason: text,
  })
  const { type, callId, text: said }: { type?: string; callId?: string; text?: string } = Object(command)
  checkValue('type', type, text)
  if (type?.startsWith('tool.')) checkValue('callId', callId, text)
  if (type === 'steer') checkValue('text', said, text)
  checkValue('A command', command, isStorable)
}

/** Refuses what JSON cannot hold. */
export const isStorable = (name: string, value: unknown): string | undefined => {
  try {
    JSON.stringify(value)
    return anything()
  } catch {
    return `${name} must be JSON: it is stored.`
  }
}
