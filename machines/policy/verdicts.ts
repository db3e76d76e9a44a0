import type { ErrorData } from '../../src/messages/errors.ts'
import { appended } from '../../src/messages/growing.ts'
import { type ChatMessage, type ToolResultPart, textPart } from '../../src/messages/messages.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult } from '../../src/tools/toolResult.ts'
import type { AgentEmitted } from '../agent/events.ts'
import type { StreamingState, ToolRound } from '../agent/streamingState.ts'
import { nextResult } from '../tasks/tasks.ts'
import { dueTexts, laterSteering } from '../tools/results.ts'
import { currentCalls, lastMessage } from '../tools/round.ts'
import { originIn } from '../tools/runTools.ts'
import { isGiven, type Verdict, type Verdicts } from './openQuestions.ts'
import { type Gate, gateItems, judgedCalls, questionId, type ResolvedPolicy, steerKeys } from './questions.ts'
import { judgesTexts, refuseLast, refuseTexts } from './unjudged.ts'

// What follows from the verdicts of a policy. A missing verdict is a refusal.

/** The answer of a policy to a question. `ended`: its machine has ended in a state that refuses. */
type PolicyAnswer = { id: string; verdicts: Verdicts; ended?: Verdict }

/** The answer of the policy at a gate. */
export type JudgedGate = { gate: Gate; answer: PolicyAnswer }

const noVerdict: Verdict = { verdict: 'refuse', state: '', reason: 'the policy did not decide on it' }

const ownVerdict = ({ verdicts }: PolicyAnswer, key: string): Verdict | undefined =>
  Object.hasOwn(verdicts, key) ? verdicts[key] : undefined

const verdictFor = (answer: PolicyAnswer, key: string): Verdict => ownVerdict(answer, key) ?? noVerdict

/** Says whether a verdict is on the question that the run waits for. */
export const isCurrent = (state: StreamingState, { gate, answer }: JudgedGate): boolean =>
  isGiven(answer) && answer.id === questionId(gate, state)

/** Says whether the policy refuses to continue: the prompt, the answer, or everything, because it has ended. */
export const isRefused = (policy: ResolvedPolicy, state: StreamingState, judged: JudgedGate): boolean => {
  if (!isCurrent(state, judged)) return false
  const { gate, answer } = judged
  if (answer.ended) return true
  return singleItems(gate, policy, state).some((key) => verdictFor(answer, key).verdict === 'refuse')
}

/** The items of a gate that asks one thing. */
const singleItems = (gate: Gate, policy: ResolvedPolicy, state: StreamingState): string[] =>
  gate === 'Prompt' || gate === 'Answer'
    ? gateItems(gate, policy, state, new Map()).map(({ key }) => key)
    : []

/** The messages of the user that the policy has let pass join those that wait for the model. */
export const admittedSteering = (state: StreamingState, answer: PolicyAnswer): Partial<StreamingState> => {
  const { steering: asked, ...options } = state.options
  if (!asked) return {}
  const verdicts = steerKeys(state).map((key) => ownVerdict(answer, key)?.verdict)
  const admitted = asked.filter((_, index) => verdicts[index] === 'pass' || verdicts[index] === 'ask')
  // Those that have come since are asked about at the next gate.
  const later = asked.filter((_, index) => verdicts[index] === undefined)
  return {
    options: { ...options, ...(later.length > 0 && { steering: later }) },
    ...(admitted.length > 0 && { steering: appended(state.steering, admitted) }),
  }
}

/** The moment at which a hold has lasted too long; null for never. */
export const holdEnd = (
  { policy }: { policy: ResolvedPolicy | undefined },
  { round, deadlineAt }: StreamingState,
): number | null => {
  const end = Math.min(round.waitingSince + (policy?.holdMs ?? 0), deadlineAt ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(end) ? end : null
}

/** The round after the verdicts on its calls: what was refused has its result, and the rest runs or waits for a person. */
export const decidedRound = (
  policy: ResolvedPolicy,
  state: StreamingState,
  tools: ReadonlyMap<string, Tool>,
  answer: PolicyAnswer,
): { round: ToolRound; results: ToolResultPart[] } => {
  const { round } = state
  const results: ToolResultPart[] = []
  const asked: string[] = []
  const judged: string[] = []
  for (const each of judgedCalls(policy, state, tools)) {
    const { call } = each
    if ('result' in each) {
      results.push(each.result)
      continue
    }
    const { isAnswer } = each
    const verdict = verdictFor(answer, call.id)
    if (verdict.verdict === 'refuse') results.push(refusedCall(call, verdict, isAnswer))
    else {
      if (isAnswer) continue
      if (verdict.verdict === 'ask') asked.push(call.id)
      judged.push(call.id)
    }
  }
  const isAnswered = new Set(results.map(({ id }) => id))
  const isAsked = new Set(asked)
  const names = new Map(currentCalls(state).map(({ id, name }) => [id, name]))
  const pending = [...round.pendingApprovals, ...round.cleared].filter(
    (id) => !isAnswered.has(id) && (isAsked.has(id) || round.pendingApprovals.includes(id)),
  )
  const origins = Object.fromEntries(pending.map((id) => [id, originIn(tools, names.get(id) ?? '')]))
  return {
    results,
    round: {
      ...round,
      pendingApprovals: currentCalls(state).flatMap(({ id }) => (pending.includes(id) ? id : [])),
      cleared: round.cleared.filter((id) => !isAnswered.has(id) && !isAsked.has(id)),
      ...(pending.length > 0 && { origins: { ...round.origins, ...origins } }),
      judged,
      results: appended(round.results, results),
    },
  }
}

type Call = { id: string; name: string }

/** The error of a refused call, which the model can learn from. */
const refusedCall = (call: Call, { state, reason, possible }: Verdict, isAnswer: boolean): ToolResultPart => {
  const what = isAnswer ? 'The answer was not accepted' : 'The call was not made'
  if (reason !== undefined) return errorResult(call, `${what}: ${sentence(reason)}`)
  const now = possible?.length ? ` Possible now: ${possible.join(', ')}.` : ''
  const where = state === '' ? 'now' : `in the state ${state}`
  const thing = isAnswer ? 'an answer' : `"${call.name}"`
  return errorResult(call, `${what}: the policy does not allow ${thing} ${where}.${now}`)
}

const sentence = (reason: string): string => reason.replace(/\.?$/, '.')

/** The reason why the model does not see the result of a task; undefined if it does. */
export const withheldResult = (state: StreamingState, answer: PolicyAnswer): string | undefined => {
  const { verdict, state: at, reason } = verdictFor(answer, nextResult(state)?.id ?? '')
  if (verdict !== 'refuse') return undefined
  return reason === undefined ? `the policy is in the state ${at}.` : sentence(reason)
}

/** The round whose results the policy has seen: the model gets those that are not withheld. */
export const shownRound = ({ round }: StreamingState, answer: PolicyAnswer): ToolRound => {
  const judged = new Set(round.judged ?? [])
  const withheld = (result: ToolResultPart): ToolResultPart => {
    if (!judged.has(result.id) || result.rejected) return result
    const { verdict, state, reason } = verdictFor(answer, result.id)
    if (verdict !== 'refuse') return result
    const why = reason === undefined ? `the policy is in the state ${state}.` : sentence(reason)
    return errorResult(result, `The tool has run, but its result is withheld: ${why}`)
  }
  return { ...round, results: round.results.map((batch) => batch.map(withheld)) }
}

/** The parts of a run that ends before the policy has judged them: the model must not get the results later. */
export const unjudged = (policy: ResolvedPolicy, state: StreamingState): Partial<StreamingState> => {
  if (lastMessage(state)?.role !== 'model') return {}
  if (currentCalls(state).length > 0) return { round: unseenRound(policy, state) }
  return refuseLast(state, unacceptedReason(state))
}

/** The conversation of a run that ends before the policy has accepted its texts: they do not become part of the result. */
export const withoutUnaccepted = (policy: ResolvedPolicy, state: StreamingState): Partial<StreamingState> =>
  judgesTexts(policy) ? refuseTexts(state, unacceptedReason(state)) : {}

const unacceptedReason = ({ failure }: StreamingState): string =>
  failure?.message ?? 'The run ended before the policy had accepted it.'

const unseenRound = ({ mentions }: ResolvedPolicy, { round }: StreamingState): ToolRound => {
  const judged = new Set(round.judged ?? [])
  const isUnseen = ({ id, name, rejected }: ToolResultPart) =>
    judged.has(id) && !rejected && (mentions(`${name}.done`) || mentions(`${name}.failed`))
  const withheld = (result: ToolResultPart): ToolResultPart =>
    isUnseen(result)
      ? errorResult(
          result,
          'The tool has run, but its result is withheld: the run ended before the policy had seen it.',
        )
      : result
  return { ...round, results: round.results.map((batch) => batch.map(withheld)) }
}

/** The conversation with the refused answer marked, and what the model learns about it. */
export const refusedAnswer = (
  state: StreamingState,
  answer: PolicyAnswer,
): Pick<StreamingState, 'history' | 'messages' | 'steering'> => {
  const why = refusalOf(verdictFor(answer, 'answer'))
  const { history, messages } = refuseTexts(state, why)
  const correction: ChatMessage = {
    role: 'user',
    parts: [
      textPart(`Your answer was not accepted: ${why} Do what is missing, then answer again.`),
      ...dueTexts(state).map(textPart),
    ],
    metadata: { policy: 'refused' },
  }
  return {
    history: [...history, correction],
    messages: [...messages, correction],
    steering: laterSteering(state),
  }
}

const refusalOf = ({ state, reason }: Verdict): string =>
  sentence(reason ?? (state === '' ? noVerdict.reason : `the policy is in the state ${state}`) ?? '')

/** The failure of a run whose policy refuses it. */
export const policyRefusal = ({ gate, answer }: JudgedGate): ErrorData => {
  const what = gate === 'Prompt' ? 'prompt' : 'answer'
  const why = refusalOf(answer.ended ?? verdictFor(answer, what))
  return {
    name: 'OrchestrationError',
    message: `The policy refused the ${answer.ended ? 'run' : what}: ${why}`,
    code: 'policy_refused',
    retryable: false,
  }
}

/** The failure of a run whose policy held it for too long. */
export const policyTimeout = (holdMs: number): ErrorData => ({
  name: 'TimeoutError',
  message: `The policy held the run for longer than ${holdMs} ms (policy.holdMs).`,
  code: 'policy_timeout',
  retryable: false,
})

/** The verdicts as listeners get them. */
export const verdictEvents = (state: StreamingState, { gate, answer }: JudgedGate): AgentEmitted[] => {
  const steering = new Set(steerKeys(state))
  const single = gate === 'Prompt' || gate === 'Answer' ? gate.toLowerCase() : undefined
  return Object.entries(answer.verdicts).map(([key, { verdict, state: at, reason }]) => ({
    type: 'policy',
    gate: steering.has(key) ? 'Steering' : gate,
    ...(!steering.has(key) && key !== single ? { callId: key } : {}),
    verdict,
    state: at,
    ...(reason !== undefined && { reason }),
  }))
}
