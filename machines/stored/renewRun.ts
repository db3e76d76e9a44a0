import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import { factsOf } from '../agent/states.ts'
import { modelInput, retryTime, type StreamingState } from '../agent/streamingState.ts'
import { renewSummariser } from '../compaction/contextWindow.ts'
import { holdEnd } from '../policy/verdicts.ts'
import type { Renewal } from './version.ts'

/**
 * Brings a stored run up to date with the present: the agent may have been changed, and time has passed. A model that the
 * agent no longer has is not asked again, and the time in which no process had the run does not count for
 * `timeouts.totalMs`.
 */
export const renewRun = (config: ResolvedConfig): Renewal => {
  const renewSummary = renewSummariser(config)
  return (stored, stoppedMs) => {
    const state = inPresent(config, stored, stoppedMs)
    return renewSummary(state ? { ...stored, ...withState(config, stored, state) } : stored)
  }
}

const inPresent = (
  { models }: ResolvedConfig,
  { status, value, context }: JsonObject,
  stoppedMs: number,
): StreamingState | undefined => {
  if (status !== 'active') return undefined
  // Its shape was checked before.
  const state = context as JsonObject & StreamingState
  const isGone = state.request.modelIndex >= models.length
  // A wait adds its own time when it ends.
  const isLate = stoppedMs > 0 && state.deadlineAt !== null && !factsOf(value)?.isWaiting
  if (!isGone && !isLate) return undefined
  return {
    ...state,
    ...(isGone && { request: { ...state.request, modelIndex: 0, attempt: 0 } }),
    ...(isLate && { deadlineAt: (state.deadlineAt ?? 0) + stoppedMs }),
  }
}

/** The snapshot with other data: the work of its children follows from the data. */
const withState = (
  config: ResolvedConfig,
  { value, children }: JsonObject,
  state: StreamingState,
): JsonObject => {
  const { model, timer, ...others } = isJsonObject(children) ? children : {}
  const { isInRound, isHeld } = factsOf(value) ?? {}
  const at = isHeld ? holdEnd(config, state) : isInRound ? state.deadlineAt : retryTime(state)
  return {
    context: state as StreamingState & JsonObject,
    children: {
      ...others,
      ...(isJsonObject(model) && { model: asked(model, modelInput(state) as JsonValue) }),
      ...(isJsonObject(timer) && { timer: asked(timer, { at }) }),
    },
  }
}

const asked = (child: JsonObject, input: JsonValue): JsonObject => ({
  ...child,
  snapshot: { ...(isJsonObject(child.snapshot) ? child.snapshot : {}), input },
})
