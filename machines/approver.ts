import type { ActorLogic, AnyActorRef, Snapshot } from 'xstate'
import { describeThrown } from '../src/messages/errors.ts'
import { isJsonObject } from '../src/messages/json.ts'
import type { ToolCallPart } from '../src/messages/messages.ts'
import type { Approval, OnApproval } from '../src/tools/approval.ts'
import type { AgentCommand } from './events.ts'
import { copyOf } from './streamingState.ts'

type ApproverSnapshot = Snapshot<undefined> & {
  calls: ToolCallPart[]
  /** Ids of the calls that were decided on. */
  decided: string[]
}

type ApproverEvent = { type: 'decided'; command: Decision }
type Decision = Extract<AgentCommand, { type: 'tool.approve' | 'tool.reject' }>

/** Asks `onApproval` about the calls that wait, and tells the agent what it says. Restored, it asks about the others. */
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
    for (const call of calls) if (!decided.includes(call.id)) void ask(onApproval, call, self)
  },

  transition: (snapshot, event, { self, defer }) => {
    if (event.type !== 'decided') return snapshot
    defer(() => self._parent?.send(event.command))
    return { ...snapshot, decided: [...snapshot.decided, event.command.callId] }
  },

  getPersistedSnapshot: (snapshot) => snapshot,
  restoreSnapshot: (stored) => stored as ApproverSnapshot,
})

const ask = async (onApproval: OnApproval, call: ToolCallPart, self: AnyActorRef): Promise<void> => {
  try {
    const approval = await onApproval(copyOf(call))
    self.send({ type: 'decided', command: decisionOn(call.id, approval) })
  } catch (thrown) {
    const refused = { approve: false, reason: describeThrown(thrown) }
    self.send({ type: 'decided', command: decisionOn(call.id, refused) })
  }
}

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
