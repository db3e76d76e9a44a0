import { factsOf, statePath } from '../../machines/agent/states.ts'
import type { Verdict } from '../../machines/policy/openQuestions.ts'
import type { Gate } from '../../machines/policy/questions.ts'
import { isRun } from '../../machines/tools/pendingCalls.ts'
import { isJsonObject } from '../messages/json.ts'
import { type ActorRecord, type Moment, takenIn } from './ActorRecord.ts'
import type { Attempt, StoredAttempt } from './Attempt.ts'
import { activeStates } from './chart.ts'
import type { HoldRow, MomentRow, VerdictRow } from './protocol.ts'
import type { Recorder } from './Recorder.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { hideSecrets } from './secrets.ts'

/** A verdict of a policy, and what it is about: the id of a call, `prompt` or `answer`. */
type NotedVerdict = { key: string; gate: Gate; verdict: Verdict }

/** The verdicts on a call, as far as they were given by a moment. */
export const callVerdicts = (
  { judged }: ActorRecord,
  callId: string,
  asOf: number,
  secrets: readonly string[],
): VerdictRow[] =>
  judged
    .filter(({ seq }) => seq <= asOf)
    .flatMap(({ event }) => noted(event))
    .filter(({ key, gate }) => key === callId && gate !== 'Answer')
    .map((each) => verdictRow(each, secrets))

/** The verdicts on an answer, and on the prompt before it. */
export const answerVerdicts = (
  recorder: Recorder,
  attempt: Attempt | StoredAttempt,
  secrets: readonly string[],
): VerdictRow[] => {
  const owner = recorder.actors.get(attempt.owner)
  if (!owner || owner.judged.length === 0) return storedRefusal(attempt, secrets)
  const index = owner.attempts.indexOf(attempt)
  const own = owner.judged.flatMap(({ event, attempts }) =>
    noted(event).filter(({ gate }) =>
      gate === 'Prompt' ? attempts === index : gate === 'Answer' && attempts - 1 === index,
    ),
  )
  return own.map((each) => verdictRow(each, secrets))
}

/** The refusal that the message of a stored answer has. */
const storedRefusal = (attempt: Attempt | StoredAttempt, secrets: readonly string[]): VerdictRow[] => {
  const { refused } = ('messages' in attempt && attempt.messages[attempt.before]?.metadata) || {}
  if (typeof refused !== 'string') return []
  return [verdictRow({ gate: 'Answer', verdict: { verdict: 'refuse', state: '', reason: refused } }, secrets)]
}

/** The verdicts that an event brings, by the question that they answer: `step/gate/round`. */
const noted = ({ id, verdicts, ended }: Readonly<Record<string, unknown>>): NotedVerdict[] => {
  const gate = gates.find((name) => String(id).split('/')[1] === name)
  if (!gate) return []
  const own = Object.entries(Object(verdicts)).filter((entry): entry is [string, Verdict] =>
    isVerdict(entry[1]),
  )
  const all = isVerdict(ended) ? [...own, [lowered(gate), ended] as const] : own
  return all.map(([key, verdict]) => ({ key, gate, verdict }))
}

const gates: readonly Gate[] = ['Prompt', 'Calls', 'Results', 'Answer']

const lowered = (gate: Gate): string => gate.toLowerCase()

const isVerdict = (value: unknown): value is Verdict =>
  isJsonObject(value) && typeof value.verdict === 'string' && typeof value.state === 'string'

const longestReason = 500

/** A verdict as people read it. */
const verdictRow = (
  { gate, verdict: { verdict, state, reason = '', possible = [] } }: Omit<NotedVerdict, 'key'>,
  secrets: readonly string[],
): VerdictRow => {
  const now = possible.length > 0 ? `possible now: ${possible.join(', ')}` : ''
  const why = [reason, now].filter((each) => each !== '').join('; ')
  return { gate, verdict, state, reason: hideSecrets(why, secrets).slice(0, longestReason) }
}

/** The verdicts on the last question of a stored run: those before it are not stored. */
export const storedVerdicts = (
  snapshot: unknown,
  callId: string,
  secrets: readonly string[],
): VerdictRow[] => {
  const { open } = Object(Object(policyOf(snapshot)).judging)
  const all = isJsonObject(open) ? noted(open) : []
  return all.filter(({ key }) => key === callId).map((each) => verdictRow(each, secrets))
}

/** The snapshot of the policy of a run, by a snapshot of the run: of an actor, or as it was stored. */
const policyOf = (snapshot: unknown): unknown => {
  const { policy } = Object(Object(snapshot).children)
  const { getSnapshot } = Object(policy)
  return typeof getSnapshot === 'function' ? Reflect.apply(getSnapshot, policy, []) : Object(policy).snapshot
}

/** The hold that a run waits for now. */
export const holdRow = (snapshot: unknown): HoldRow | null => {
  const { context, value, status }: Readonly<Record<string, unknown>> = Object(snapshot)
  if (status !== 'active' || !isRun(context) || !factsOf(value)?.isHeld) return null
  const { value: state, children } = Object(policyOf(snapshot))
  return { state: statePath(state), checks: Object.keys(Object(children)), since: context.round.waitingSince }
}

/** The policy of a run at a moment of the run. */
export const policyAt = (
  subject: Subject,
  { seq }: Moment,
  before: Moment | undefined,
): MomentRow['policy'] => {
  const { policy = null }: { policy?: ActorRecord | null } = subject instanceof StoredRecord ? {} : subject
  if (!policy) return null
  const { moments, machine } = policy
  const end = placeAfter(moments, seq)
  const last = moments[end - 1]
  if (!last) return null
  const counts = new Map<string, number>()
  for (const moment of moments.slice(before ? placeAfter(moments, before.seq) : 0, end))
    for (const [name, count] of takenIn(moment, machine)) counts.set(name, (counts.get(name) ?? 0) + count)
  return { states: activeStates(machine, last.snapshot).map(({ id }) => id), taken: [...counts] }
}

/** The place of the first moment after one of any actor. They are in order, so half of them are left out at each step. */
const placeAfter = (moments: readonly Moment[], seq: number): number => {
  let [low, high] = [0, moments.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((moments[middle]?.seq ?? 0) <= seq) low = middle + 1
    else high = middle
  }
  return low
}
