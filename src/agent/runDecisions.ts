import type { AgentCommand } from '../../machines/agent/events.ts'
import { apart, decisionOn } from '../../machines/tools/approvals.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject } from '../messages/json.ts'
import type { PendingCall } from '../messages/result.ts'
import type { Approval, ApprovalOptions, CallDecision } from '../tools/approval.ts'
import { toolResultOf } from '../tools/toolResult.ts'

/** The call that a decision is about, if the run waits for such a one. */
export const waitingCall = (
  pending: readonly PendingCall[],
  callId: string,
  kind?: PendingCall['kind'],
): PendingCall => {
  const call = pending.find(({ id }) => id === callId)
  // A call in doubt accepts any kind of decision.
  const isLimit = call?.kind === 'limit' && kind !== 'answer'
  if (call && (kind === undefined || call.kind === kind || call.inDoubt || isLimit)) return call
  const waiting = pending.map((each) => `${each.id} (${each.kind})`).join(', ')
  throw new ConfigurationError(
    `No call "${callId}" waits for an ${kind ?? 'approval or answer'}; ${waiting === '' ? 'nothing does.' : `pending are: ${waiting}.`}`,
  )
}

/** The command that approves a call. */
export const approval = (callId: string, { arguments: edited, remember }: ApprovalOptions): AgentCommand => {
  if (edited !== undefined && !isJsonObject(edited))
    throw new ConfigurationError('The arguments of an approval must be an object.')
  if (remember !== undefined && remember !== 'tool' && remember !== 'arguments')
    throw new ConfigurationError('remember must be "tool" or "arguments".')
  return {
    type: 'tool.approve',
    callId,
    ...(edited !== undefined && { arguments: jsonOf(edited) }),
    ...(remember !== undefined && { remember }),
  }
}

/** The command that answers a call of an external tool. */
export const answer = (call: PendingCall, result: unknown, isError: unknown): AgentCommand => {
  try {
    toolResultOf(call, result)
  } catch (cause) {
    throw new ConfigurationError(`The answer of "${call.name}" is not usable: ${describeThrown(cause)}`, {
      cause,
    })
  }
  return { type: 'tool.answer', callId: call.id, result, ...(isError === true && { isError }) }
}

/** The commands for decisions by call id. Calls without one stay pending; one about another call is a mistake. */
export const commandsFor = (decisions: unknown, pending: readonly PendingCall[]): AgentCommand[] => {
  if (!isJsonObject(decisions))
    throw new ConfigurationError('Decisions are given by call id, such as { call_1: true }.')
  const except = Object.keys(decisions)
  return Object.entries(decisions).flatMap(([callId, decision]) =>
    decision === undefined ? [] : [apart(commandFor(callId, decision as CallDecision, pending), except)],
  )
}

const commandFor = (
  callId: string,
  decision: CallDecision,
  pending: readonly PendingCall[],
): AgentCommand => {
  if (isAnswer(decision))
    return answer(waitingCall(pending, callId, 'answer'), decision.result, decision.isError)
  const command = decisionOn(callId, decision)
  if (command.type === 'tool.reject') waitingCall(pending, callId)
  else {
    waitingCall(pending, callId, 'approval')
    return approval(callId, command)
  }
  return command
}

const isAnswer = (decision: CallDecision): decision is Exclude<CallDecision, Approval> =>
  isJsonObject(decision) && 'result' in decision

const jsonOf = (value: JsonObject): JsonObject => {
  try {
    return copyJson(value) as JsonObject
  } catch (cause) {
    throw new ConfigurationError(`The arguments of an approval are not JSON: ${describeThrown(cause)}`, {
      cause,
    })
  }
}
