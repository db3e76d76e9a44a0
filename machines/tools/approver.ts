import type { ActorLogic, Snapshot } from 'xstate'
import { describeThrown } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import type { ToolCallPart } from '../../src/messages/messages.ts'
import type { Approval, OnApproval } from '../../src/tools/approval.ts'
import type { AgentCommand } from '../agent/events.ts'
import { copyOf } from '../agent/streamingState.ts'
import { onStop } from './toolCall.ts'

type ApproverSnapshot = Snapshot<undefined> & {
  calls: ToolCallPart[]
  /** Ids of the calls that were decided on. */
  decided: string[]
}

type ApproverEvent = { type: 'decided'; command: Decision }
type Decision = Extract<AgentCommand, { type: 'tool.approve' | 'tool.reject' }>

/** Asks `onApproval` about the calls that wait, and passes on what it says. Restored, it asks about the others. */
export const approver = (
  onApproval: OnApproval | undefined,
): ActorLogic<ApproverSnapshot, ApproverEvent, { calls: ToolCallPart[] }> => ({
  getInitialSnapshot: (_, { calls }) => ({
    status: 'active',
    output: undefined,
    error: undefined,
    calls,
    decided: [],
  }),

  start: ({ calls, decided }, { self }) => {
    if (!onApproval) return
    let isStopped = false
    onStop(self, () => {
      isStopped = true
    })
    const except = calls.map(({ id }) => id)
    const tell = (callId: string, approval: Approval) => {
      if (!isStopped) self.send({ type: 'decided', command: apart(decisionOn(callId, approval), except) })
    }
    for (const call of calls) if (!decided.includes(call.id)) void ask(onApproval, call, tell)
  },

  transition: (snapshot, event, { self, defer }) => {
    if (event.type !== 'decided') return snapshot
    defer(() => self._parent?.send(event.command))
    return { ...snapshot, decided: [...snapshot.decided, event.command.callId] }
  },

  getPersistedSnapshot: (snapshot) => snapshot,
  // A run may be restored where there is no `onApproval`.
  restoreSnapshot: (stored) => {
    const { calls, decided } = stored as ApproverSnapshot
    return { status: onApproval ? 'active' : 'done', output: undefined, error: undefined, calls, decided }
  },
})

const ask = async (
  onApproval: OnApproval,
  call: ToolCallPart,
  tell: (callId: string, approval: Approval) => void,
): Promise<void> => {
  try {
    tell(call.id, await onApproval(copyOf(call)))
  } catch (thrown) {
    tell(call.id, { approve: false, reason: describeThrown(thrown) })
  }
}

/** What is to be remembered of a yes does not decide on calls that are decided on at the same time. */
export const apart = <Command extends AgentCommand>(command: Command, except: readonly string[]): Command =>
  command.type === 'tool.approve' && command.remember !== undefined ? { ...command, except } : command

/** Only a clear yes is one: a callback that forgets to answer has not approved anything. */
export const decisionOn = (callId: string, approval: Approval | null | undefined): Decision => {
  if (approval === true) return { type: 'tool.approve', callId }
  if (!isJsonObject(approval)) return { type: 'tool.reject', callId }
  const { approve, reason, arguments: edited, remember } = approval
  if (approve !== true) return { type: 'tool.reject', callId, ...(reason !== undefined && { reason }) }
  return {
    type: 'tool.approve',
    callId,
    ...(edited !== undefined && { arguments: edited }),
    ...(remember !== undefined && { remember }),
  }
}
