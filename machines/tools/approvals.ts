import type { ActorLogic, Snapshot } from 'xstate'
import { describeThrown } from '../../src/messages/errors.ts'
import { appended } from '../../src/messages/growing.ts'
import { copyJson, isJsonObject, stableJson } from '../../src/messages/json.ts'
import type { ToolCallPart, ToolResultPart } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { searchToolName } from '../../src/model/deferredTools.ts'
import { type Approval, type OnApproval, unknownField } from '../../src/tools/approval.ts'
import { isSearch, searchResult } from '../../src/tools/deferred.ts'
import { ignoreRejection, isThenable } from '../../src/tools/isThenable.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult, misfit, unknownTool } from '../../src/tools/toolResult.ts'
import type { ConfigSource } from '../agent/chartConfig.ts'
import type { AgentCommand } from '../agent/events.ts'
import { refusedCalls } from '../agent/limits.ts'
import {
  copyOf,
  noRound,
  type Remembered,
  type StreamingState,
  type ToolRound,
} from '../agent/streamingState.ts'
import { hostOf } from '../logic/runEnvironment.ts'
import { expiredAt, expiredResult, expiryOf, isAsleep, wokenResult } from './expiry.ts'
import { asQuestion, isAbout } from './question.ts'
import { callWithId, currentCalls, externalCalls, ownOf, withResults } from './round.ts'
import { originIn, ownOrigin } from './runTools.ts'
import { onStop } from './toolCall.ts'

/** Decides once what happens to each call: it runs, a person is asked, or it is refused. */
export const beginRound = (
  state: StreamingState,
  tools: ReadonlyMap<string, Tool>,
  callsTools: boolean,
  context: unknown,
  id: string,
): ToolRound => {
  const offered = callsTools ? (state.request.prepared?.tools ?? [...tools.keys()]) : []
  const isOffered = new Set(offered)
  const round: ToolRound = {
    ...noRound,
    id,
    pendingApprovals: [],
    cleared: [],
    external: [],
    ending: [],
  }
  const results: ToolResultPart[] = []
  const origins: NonNullable<ToolRound['origins']> = {}
  const calls = currentCalls(state)
  const refused = refusedCalls(state, calls)
  const offeredTools = () => new Map([...tools].filter(([name]) => isOffered.has(name)))
  const decide = (call: ToolCallPart, tool: Tool | undefined) => {
    const excess = refused.get(call.id)
    if (excess !== undefined) return errorResult(call, excess)
    // A tool that is found by a search is offered if both it and the search are.
    const isHidden =
      tool !== undefined && !(isOffered.has(call.name) && (!tool.isDeferred || isOffered.has(searchToolName)))
    const remembered = state.remembered.filter(
      ({ origin = ownOrigin }) => origin === originIn(tools, call.name),
    )
    if (isHidden) return unknownTool(call, offered)
    return isSearch(call, tools)
      ? searchResult(call, offeredTools())
      : decideOn(call, tool, remembered, context)
  }
  for (const call of calls) {
    const tool = tools.get(call.name)
    const decision = decide(call, tool)
    if (decision === 'ask') {
      round.pendingApprovals.push(call.id)
      origins[call.id] = originIn(tools, call.name)
    }
    if (decision === 'run') round.cleared.push(call.id)
    else if (decision !== 'ask') results.push(decision)
    if (tool?.execute === null) round.external.push(call.id)
    if (tool?.endsRun) round.ending.push(call.id)
  }
  const isAsked = round.pendingApprovals.length > 0
  return { ...round, ...(isAsked && { origins }), results: appended([], results) }
}

/**
 * Decides on the arguments that the tool would get. If that cannot be decided at once, or the check throws, a person is
 * asked: that is the safe choice. Arguments that do not fit are refused for good: a call without approval must not run,
 * even if it would fit later.
 */
const decideOn = (
  call: ToolCallPart,
  tool: Tool | undefined,
  remembered: readonly Remembered[],
  context: unknown,
): 'run' | 'ask' | ToolResultPart => {
  if (!tool) return 'run'
  const isExternal = tool.execute === null
  const rule = tool.needsApproval
  if (rule === false && !isExternal) return 'run'
  if (call.argumentsError !== undefined) return errorResult(call, call.argumentsError)
  try {
    const validation = tool.validate(copyJson(call.arguments))
    if (isThenable(validation)) {
      ignoreRejection(validation)
      return rule === false || isRemembered(call, remembered) ? 'run' : 'ask'
    }
    if (!validation.ok) return misfit(call, validation.problem)
    if (rule === false || isRemembered(call, remembered)) return 'run'
    return rule === true || isAsked(rule(validation.value, { context })) ? 'ask' : 'run'
  } catch {
    return 'ask'
  }
}

/** A person is asked for anything but a clear no, and a promise is not one. */
const isAsked = (answer: unknown): boolean => {
  ignoreRejection(answer)
  return Boolean(answer)
}

const isRemembered = (call: ToolCallPart, remembered: readonly Remembered[]): boolean =>
  remembered.some(
    (each) =>
      each.tool === call.name && (each.arguments === null || each.arguments === stableJson(call.arguments)),
  )

/** The calls that a person must still decide on. */
export const pendingCalls = (state: StreamingState): ToolCallPart[] => {
  const pending = new Set(state.round.pendingApprovals)
  return currentCalls(state).filter(({ id }) => pending.has(id))
}

/** The pending calls as a person is asked about them; `only`: the one with this id. */
export const askedCalls = (state: StreamingState, only?: string): PendingCall[] => {
  const isInDoubt = new Set(state.round.inDoubt)
  return (only === undefined ? pendingCalls(state) : pendingCall(state, only)).map((call) => ({
    ...asQuestion(state, call, 'approval'),
    ...(isInDoubt.has(call.id) && { inDoubt: true }),
    ...expiryOf(state, call.id),
  }))
}

/** The calls that wait for their answer from outside, as they are asked for; `only`: the one with this id. One that sleeps asks for nothing. */
export const awaitedCalls = (state: StreamingState, only?: string): PendingCall[] =>
  externalCalls(state)
    .filter((call) => (only === undefined || call.id === only) && !isAsleep(state, call))
    .map((call) => ({ ...asQuestion(state, call, 'answer'), ...expiryOf(state, call.id) }))

/** Says whether a decision is about a call that a person is asked about. */
export const isPending = (
  state: StreamingState,
  command: Pick<ApprovalCommand, 'callId' | 'question'>,
): boolean => {
  const [call] = pendingCall(state, command.callId)
  return call !== undefined && isAbout(command, asQuestion(state, call, 'approval'))
}

const pendingCall = (state: StreamingState, id: string): ToolCallPart[] => {
  const call = state.round.pendingApprovals.includes(id) ? callWithId(state, id) : undefined
  return call ? [call] : []
}

type ApprovalCommand = Omit<Extract<AgentCommand, { type: 'tool.approve' }>, 'type'>

/** A person has approved a call, and perhaps later ones. A call that was already shown is decided on by itself. */
export const approve = (
  state: StreamingState,
  { callId, arguments: edited, remember }: ApprovalCommand,
): Partial<StreamingState> => {
  const call = callWithId(state, callId)
  if (!call) return {}
  const own = isJsonObject(edited) ? (copyJson(edited) as typeof edited) : undefined
  const args = own ?? call.arguments
  const { round, remembered } = state
  const origin = round.origins && ownOf(round.origins, callId)
  const isKept = remember === 'tool' || remember === 'arguments'
  const kept: Remembered = {
    tool: call.name,
    arguments: remember === 'tool' ? null : stableJson(args),
    ...(origin !== undefined && origin !== ownOrigin && { origin }),
  }
  return {
    remembered: isKept ? [...remembered, kept] : remembered,
    round: {
      ...round,
      pendingApprovals: round.pendingApprovals.filter((id) => id !== callId),
      cleared: [...round.cleared, callId],
      ...(own && { edited: { ...round.edited, [callId]: own } }),
    },
  }
}

/** Decides on the calls whose time is up, as their tools say. */
export const expire = (
  state: StreamingState,
  at: number,
): { change: Partial<StreamingState>; results: ToolResultPart[] } => {
  const expired = expiredAt(state, at)
  const results = expired.flatMap(({ call, outcome }) => {
    if (outcome === 'approve') return []
    return outcome === 'wake' ? wokenResult(state, call, at) : expiredResult(state, call)
  })
  const approved = new Set(expired.flatMap(({ call, outcome }) => (outcome === 'approve' ? call.id : [])))
  const round: ToolRound = {
    ...state.round,
    pendingApprovals: state.round.pendingApprovals.filter((id) => !approved.has(id)),
    cleared: [...state.round.cleared, ...approved],
  }
  return { change: { round: withResults(round, results) }, results }
}

type ApproverSnapshot = Snapshot<undefined> & {
  calls: PendingCall[]
  /** Ids of the calls that were decided on. */
  decided: string[]
}

type ApproverEvent = { type: 'decided'; command: Decision }
type Decision = Extract<AgentCommand, { type: 'tool.approve' | 'tool.reject' }>
type Asked = Pick<PendingCall, 'id' | 'question'>

/** Asks `onApproval` about the calls that wait, and passes on what it says. Restored, it asks about the others. */
export const approver = (
  configOf: ConfigSource['of'],
): ActorLogic<ApproverSnapshot, ApproverEvent, { calls: PendingCall[] }> => ({
  getInitialSnapshot: (_, { calls }) => ({
    status: 'active',
    output: undefined,
    error: undefined,
    calls,
    decided: [],
  }),

  start: ({ calls, decided }, { self }) => {
    const { onApproval } = configOf(self)
    if (!onApproval) return
    let isStopped = false
    onStop(self, () => {
      isStopped = true
    })
    const decide = (call: Asked, approval: Approval) => {
      // A decision of a person that was acknowledged before counts.
      hostOf(self).takeCommands?.()
      if (!isStopped) self.send({ type: 'decided', command: decisionOn(call, approval) })
    }
    for (const call of calls) if (!decided.includes(call.id)) void ask(onApproval, call, decide)
  },

  transition: (snapshot, event, { self, defer }) => {
    if (event.type !== 'decided') return snapshot
    defer(() => self._parent?.send(event.command))
    return { ...snapshot, decided: [...snapshot.decided, event.command.callId] }
  },

  getPersistedSnapshot: (snapshot) => snapshot,
  // A run may be restored where there is no `onApproval`.
  restoreSnapshot: (stored, { self }) => {
    const { onApproval } = configOf(self)
    const { calls, decided } = stored as ApproverSnapshot
    return { status: onApproval ? 'active' : 'done', output: undefined, error: undefined, calls, decided }
  },
})

const ask = async (
  onApproval: OnApproval,
  call: PendingCall,
  decide: (call: Asked, approval: Approval) => void,
): Promise<void> => {
  try {
    const approval = await onApproval(copyOf(call))
    const isClear = typeof approval === 'boolean' || typeof Object(approval).approve === 'boolean'
    const reason = isClear
      ? unknownField('The approval', Object(approval))
      : 'onApproval returned neither true nor { approve: true }'
    decide(call, reason === undefined ? approval : { approve: false, reason })
  } catch (thrown) {
    decide(call, { approve: false, reason: describeThrown(thrown) })
  }
}

/** Approves on a clear yes only: a callback that forgets to answer has not approved anything. */
export const decisionOn = ({ id, question }: Asked, approval: Approval | null | undefined): Decision => {
  const about = { callId: id, ...(question !== undefined && { question }) }
  if (approval === true) return { type: 'tool.approve', ...about }
  if (typeof approval !== 'object' || approval === null) return { type: 'tool.reject', ...about }
  const { approve, reason, arguments: edited, remember } = approval
  if (approve !== true) return { type: 'tool.reject', ...about, ...(reason !== undefined && { reason }) }
  return {
    type: 'tool.approve',
    ...about,
    ...(edited !== undefined && { arguments: edited }),
    ...(remember !== undefined && { remember }),
  }
}
