import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { toolCallsOf } from '../../src/messages/messages.ts'
import type { StreamingState } from '../agent/streamingState.ts'
import { missingResult } from '../tools/results.ts'
import { currentCalls } from '../tools/round.ts'
import { carriedItems, type OpenQuestion, type PolicyItem } from './openQuestions.ts'
import { questionId, resultItems } from './questions.ts'

// The ends of calls that a run has not reported to its policy, because it was aborted or has failed before. The next run of
// the conversation begins with them: a policy that counts what was done must not miss what was done last, and one that
// waits for the end of a call must not wait for ever.

/** The policy that a run leaves behind, with what it has not seen. */
export const withUnseen = (policy: JsonObject, unseen: readonly PolicyItem[]): JsonObject => {
  const { judging, ...stored } = policy
  // The questions of this run are not those of the next one.
  const left = { isOver: Object(judging).isOver, open: null, ...(unseen.length > 0 && { unseen }) }
  return JSON.parse(JSON.stringify({ ...stored, judging: left }))
}

/** The items that a policy has not seen at the end of its run, with the question that is open then. */
export const unseenItems = (state: StreamingState, open: OpenQuestion | null): readonly PolicyItem[] => {
  const { policy } = state.options
  if (policy) return restOf(carriedItems(policy), open, questionId('Prompt', state))
  return restOf(endItems(state, open), open, questionId('Results', state))
}

/** The items of a question that it has not come to. */
const restOf = (
  items: readonly PolicyItem[],
  open: OpenQuestion | null,
  id: string,
): readonly PolicyItem[] => {
  if (open?.id !== id || open.asker !== undefined) return items
  if (!open.items) return []
  const [first, ...rest] = items.slice(open.at)
  if (!first || !open.isTaken) return items.slice(open.at)
  const { event: _, ...taken } = first
  return [taken, ...rest]
}

/** The ends of the calls that have passed. A call that waited for a person has been rejected. */
const endItems = (state: StreamingState, open: OpenQuestion | null): PolicyItem[] => {
  const { round, history } = state
  const judged = round.judged ?? passedIn(open, questionId('Calls', state))
  if (judged.length === 0) return []
  const at = history.findLastIndex((message) => toolCallsOf(message).length > 0)
  const during = { ...state, history: history.slice(0, at + 1) }
  const known = new Set(round.results.flat().map(({ id }) => id))
  const cutOff = currentCalls(during).filter(({ id }) => !known.has(id))
  const started = new Set([...round.started.flat(), ...Object.keys(round.interruptions)])
  const closing = cutOff.map((call) => ({
    ...missingResult(state)(call),
    ...(!started.has(call.id) && round.pendingApprovals.includes(call.id) && { rejected: true as const }),
  }))
  const ended = { ...during, round: { ...round, judged, results: [...round.results, closing] } }
  const inDoubt = new Set(cutOff.flatMap(({ id }) => (started.has(id) ? id : [])))
  return resultItems({ mentions: () => true }, ended, new Map()).map((item) =>
    item.event && inDoubt.has(item.key) ? { ...item, event: { ...item.event, inDoubt: true } } : item,
  )
}

/** The calls of a turn that the policy had let pass when the run ended, before it had judged the others. */
const passedIn = (open: OpenQuestion | null, id: string): string[] =>
  open?.id === id && open.items
    ? Object.entries(open.verdicts).flatMap(([key, { verdict }]) => (verdict === 'refuse' ? [] : key))
    : []

/** The policy of a stored run that waits, and is not continued. */
export const abandonedPolicy = (snapshot: unknown): JsonObject | undefined => {
  const { children, context } = Object(snapshot)
  const { policy, run } = Object(children)
  if (!policy) return run && abandonedPolicy(Object(run).snapshot)
  const { snapshot: stored } = Object(policy)
  return isJsonObject(stored) ? withUnseen(stored, unseenItems(context, null)) : undefined
}
