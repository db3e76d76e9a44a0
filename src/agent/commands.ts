import type { AgentCommand, CallCommand, MessageTiming } from '../../machines/agent/events.ts'
import { areLimits, limitId } from '../../machines/agent/limits.ts'
import { decisionOn } from '../../machines/tools/approvals.ts'
import { isAbout } from '../../machines/tools/question.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { PendingCall } from '../messages/result.ts'
import { type Approval, type ApprovalOptions, type CallDecision, unknownField } from '../tools/approval.ts'
import { toolResultOf } from '../tools/toolResult.ts'

/** Longer than anything that a person or a tool has to say. */
const longestCommand = 16 * 1024 * 1024

/**
 * A command from any source, such as a browser, as plain data. Throws if a run with these pending calls cannot take it.
 */
export const checkCommand = (given: unknown, pending: readonly PendingCall[]): AgentCommand => {
  const command = plainData(given)
  if (!isJsonObject(command)) throw new ConfigurationError('A command is an object with a type.')
  const { type, callId, reason } = command
  const about = questionIn(command)
  switch (type) {
    case 'abort':
      return { type, ...optionalReason(reason) }
    case 'steer':
      return { type, text: text('text', command.text) }
    case 'message': {
      const when = command.when ?? 'step'
      if (!isWhen(when)) throw new ConfigurationError("when must be 'now', 'step' or 'idle'.")
      const { metadata } = command
      if (metadata !== undefined && !isJsonObject(metadata))
        throw new ConfigurationError('The metadata of a message must be an object.')
      return { type, text: text('text', command.text), when, ...(metadata && { metadata }) }
    }
    case 'tool.approve': {
      const call = waitingCall(pending, { callId: text('callId', callId), ...about }, 'approval')
      return approval(call, command)
    }
    case 'tool.reject': {
      const call = waitingCall(pending, { callId: text('callId', callId), ...about })
      return rejection(call, reason)
    }
    case 'tool.answer': {
      const call = waitingCall(pending, { callId: text('callId', callId), ...about }, 'answer')
      return answer(call, command.result, { isError: command.isError === true })
    }
    case 'compact':
      return { type }
    case 'wake':
      return { type, ...(command.message !== undefined && { message: text('message', command.message) }) }
    case 'task.command': {
      const inner = checkCommand(command.command, [])
      if ('callId' in inner) throw new ConfigurationError('Decide on a call of a task by its callId.')
      return { type, task: text('task', command.task), command: inner }
    }
    default:
      throw new ConfigurationError(
        `${JSON.stringify(type) ?? 'undefined'} is not a command: use abort, message, steer, compact, wake, tool.approve, tool.reject or tool.answer.`,
      )
  }
}

const isWhen = (when: unknown): when is MessageTiming => when === 'now' || when === 'step' || when === 'idle'

/** A command that was stored. Older releases answered a limit with other commands. */
export const storedCommand = (stored: JsonObject): AgentCommand => {
  const { type, limits } = stored
  if (type === 'limit.stop') return { type: 'tool.reject', callId: limitId }
  if (type === 'limit.raise')
    return { type: 'tool.approve', callId: limitId, ...(isJsonObject(limits) && { arguments: limits }) }
  // It was checked before it was stored, and is checked again before it is sent.
  return stored as AgentCommand
}

/**
 * The commands for decisions by call id. Calls without a decision stay pending; a decision on any other call is a
 * mistake.
 */
export const commandsFor = (decisions: unknown, pending: readonly PendingCall[]): AgentCommand[] => {
  if (!isJsonObject(decisions))
    throw new ConfigurationError('Decisions are given by call id, such as { call_1: true }.')
  for (const [callId, decision] of Object.entries(decisions)) mustDecide(callId, decision)
  return Object.entries(decisions).flatMap(([callId, decision]) =>
    decision === undefined ? [] : [checkedDecision(callId, decision as CallDecision, pending)],
  )
}

/** Refuses a decision that is neither yes nor no: it would count as a no. */
const mustDecide = (callId: string, decision: JsonValue | undefined): void => {
  const decides =
    decision === undefined ||
    typeof decision === 'boolean' ||
    (isJsonObject(decision) && (typeof decision.approve === 'boolean' || 'result' in decision))
  const unknown = isJsonObject(decision)
    ? unknownField(`The decision on "${callId.slice(0, 100)}"`, decision)
    : undefined
  if (decides && unknown !== undefined) throw new ConfigurationError(unknown)
  if (decides) return
  throw new ConfigurationError(
    `The decision on "${callId.slice(0, 100)}" says neither yes nor no: write true, false, { approve: true }, { approve: false, reason }, or { result } for an external tool.`,
  )
}

/** The command for one decision, not yet checked. */
export const commandFor = (callId: string, decision: CallDecision): CallCommand =>
  isAnswer(decision)
    ? { type: 'tool.answer', callId, ...decision }
    : decisionOn({ id: callId, ...questionIn(Object(decision)) }, decision)

const questionIn = ({ question }: { question?: unknown }): { question?: string } =>
  question === undefined ? {} : { question: text('question', question) }

const checkedDecision = (
  callId: string,
  decision: CallDecision,
  pending: readonly PendingCall[],
): AgentCommand => {
  const command = commandFor(callId, decision)
  if (command.type === 'tool.answer')
    return answer(waitingCall(pending, command, 'answer'), command.result, command)
  if (command.type === 'tool.approve') return approval(waitingCall(pending, command, 'approval'), command)
  return rejection(waitingCall(pending, command), command.reason)
}

const isAnswer = (decision: CallDecision): decision is Exclude<CallDecision, Approval> =>
  isJsonObject(decision) && 'result' in decision

/**
 * The call that a decision is about. Throws if the run does not wait for that kind of decision on it. The command for
 * it names the question of the call: when it arrives, another call may have the same id.
 */
export const waitingCall = (
  pending: readonly PendingCall[],
  { callId, question }: { callId: string; question?: string | undefined },
  kind?: PendingCall['kind'],
): PendingCall => {
  const named = pending.filter(({ id }) => id === callId)
  const call = named.find((each) => isAbout({ question }, each)) ?? named[0]
  if (call && !isAbout({ question }, call))
    throw new ConfigurationError(
      `The decision on "${callId}" is about another question than the one that waits now: show the pending call again, and decide on that one.`,
    )
  // A call in doubt accepts any kind of decision.
  const isLimit = call?.kind === 'limit' && kind !== 'answer'
  if (call && (kind === undefined || call.kind === kind || call.inDoubt || isLimit)) return call
  const waiting = pending.map((each) => `${each.id} (${each.kind})`).join(', ')
  throw new ConfigurationError(
    `No call "${callId}" waits for an ${kind ?? 'approval or answer'}: ${waiting === '' ? 'no call is pending.' : `pending are ${waiting}.`}`,
  )
}

/** The command that approves a call, or lets a run at a limit continue. */
export const approval = (
  call: PendingCall,
  { arguments: edited, remember }: Omit<ApprovalOptions, 'question'>,
): AgentCommand => {
  if (edited !== undefined && !isJsonObject(edited))
    throw new ConfigurationError('The arguments of an approval must be an object.')
  if (remember !== undefined && remember !== 'tool' && remember !== 'arguments')
    throw new ConfigurationError('remember must be "tool" or "arguments".')
  const given = edited && jsonOf(edited)
  if (call.kind === 'limit' && given && !areLimits(given))
    throw new ConfigurationError('To raise a limit, pass the new limits as arguments, such as { cost: 5 }.')
  return {
    type: 'tool.approve',
    callId: call.id,
    ...questionIn(call),
    ...(given && { arguments: given }),
    ...(remember !== undefined && { remember }),
  }
}

/** The command that refuses a call, or ends a run at a limit. */
export const rejection = (call: PendingCall, reason?: unknown): AgentCommand => ({
  type: 'tool.reject',
  callId: call.id,
  ...questionIn(call),
  ...optionalReason(reason),
})

/** The command that answers a call of an external tool. */
export const answer = (
  call: PendingCall,
  result: unknown,
  { isError }: { isError?: boolean },
): AgentCommand => {
  try {
    toolResultOf(call, result)
  } catch (cause) {
    throw new ConfigurationError(`The answer of "${call.name}" cannot be used: ${describeThrown(cause)}`, {
      cause,
    })
  }
  return {
    type: 'tool.answer',
    callId: call.id,
    ...questionIn(call),
    result,
    ...(isError === true && { isError }),
  }
}

const jsonOf = (value: JsonObject): JsonObject => {
  try {
    return copyJson(value) as JsonObject
  } catch (cause) {
    throw new ConfigurationError(
      `The arguments of an approval are not JSON: they hold ${describeThrown(cause)}.`,
      {
        cause,
      },
    )
  }
}

const plainData = (given: unknown): JsonValue => {
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

const optionalReason = (reason: unknown): { reason?: string } =>
  reason === undefined ? {} : { reason: text('reason', reason) }
