import type { AnyEventObject, AnyStateMachine } from 'xstate'
import { copyJson, isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type ToolCallPart, type ToolResultPart, textOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult, misfit, unknownTool } from '../../src/tools/toolResult.ts'
import type { Steer, StreamingState } from '../agent/streamingState.ts'
import { nextResult } from '../tasks/tasks.ts'
import { currentCalls, lastMessage, ownOf, unknownEffect } from '../tools/round.ts'
import { carriedItems, type PolicyItem, type PolicyQuestion } from './openQuestions.ts'
import { unjudgedText } from './unjudged.ts'

/** The moments at which a run asks its policy. */
export type Gate = 'Prompt' | 'Calls' | 'Results' | 'Tasks' | 'Answer'

/** The policy of an agent, with every default filled in. */
export type ResolvedPolicy = {
  /** Undefined for a sub-agent that inherits the policy of the run that called it. */
  machine: AnyStateMachine | undefined
  others: 'refuse' | 'ask' | 'allow'
  holdMs: number
  holdsChunks: boolean
  /** The models that `meta.model` of a state names. */
  models: ReadonlyMap<string, ChatModel>
  /** Says whether any state of the machine mentions an event. */
  mentions(type: string): boolean
}

type Tools = ReadonlyMap<string, Tool>

/** The question of a gate. Its items follow from the run's data, so that it can be asked again after a restore. */
export const questionAt = (
  gate: Gate,
  policy: ResolvedPolicy,
  state: StreamingState,
  tools: Tools,
): PolicyQuestion => ({
  type: 'policy.ask',
  id: questionId(gate, state),
  items: [
    ...(gate === 'Prompt' ? leftItems(state) : []),
    ...gateItems(gate, policy, state, tools),
    ...steerItems(state),
  ],
})

/** The ends of calls that the last run of the conversation has not reported. */
const leftItems = ({ options: { policy } }: StreamingState): readonly PolicyItem[] =>
  policy ? carriedItems(policy) : []

/** The items that a gate is there for. */
export const gateItems = (
  gate: Gate,
  policy: ResolvedPolicy,
  state: StreamingState,
  tools: Tools,
): readonly PolicyItem[] => itemsAt[gate](policy, state, tools)

/** The messages of the user that have come since the last gate, in their order. Only a policy that mentions them has any. */
const steerItems = (state: StreamingState): PolicyItem[] => {
  const keys = steerKeys(state)
  return (state.options.steering ?? []).map((each, index) => {
    const text = steerText(each)
    return {
      key: keys[index] ?? '',
      mode: 'ask',
      event: { type: 'steer', text },
      refused: { type: 'steer.refused', text },
    }
  })
}

const steerText = (each: Steer): string => (typeof each === 'string' ? each : each.idle)

/** The keys of the messages of the user. No verdict on one counts for another, or for a call: providers choose the ids of those. */
export const steerKeys = (state: StreamingState): string[] => {
  const ids = [...currentCalls(state), ...(state.tasks ?? [])].map(({ id }) => id)
  let prefix = 'steer'
  while (ids.some((id) => id.startsWith(`${prefix} `))) prefix += '+'
  return (state.options.steering ?? []).map((each, index) => `${prefix} ${index} ${steerText(each)}`)
}

/** The identity of a question: a verdict on another one does not count. */
export const questionId = (gate: Gate, state: StreamingState): string =>
  `${state.step}/${gate}/${gate === 'Tasks' ? nextResult(state)?.id : state.round.id}`

const itemsAt: Record<
  Gate,
  (policy: ResolvedPolicy, state: StreamingState, tools: Tools) => readonly PolicyItem[]
> = {
  // A policy that does not mention prompts is only waited for.
  Prompt: ({ mentions }, state) =>
    mentions('prompt') && !isUnasked(state, 'prompt')
      ? [{ key: 'prompt', mode: 'ask', event: { type: 'prompt', text: lastText(state) } }]
      : [],
  Calls: (policy, state, tools) =>
    judgedCalls(policy, state, tools).flatMap((judged) => ('item' in judged ? judged.item : [])),
  Results: (policy, state, tools) => resultItems(policy, state, tools),
  Tasks: (_, state) => taskItems(state),
  Answer: (policy, state) =>
    // That of a sub-agent is a result for the policy that it inherits.
    !policy.machine || isUnasked(state, 'answer') ? [] : [answerItem(policy, 'answer', answerText(state))],
}

const isUnasked = ({ options }: StreamingState, what: 'prompt' | 'answer'): boolean =>
  options.unasked?.includes(what) ?? false

const lastText = (state: StreamingState): string => {
  const message = lastMessage(state)
  return message ? textOf(message) : ''
}

/** A typed answer is its JSON; any other is all that it adds to the output of the run. */
const answerText = (state: StreamingState): string =>
  state.options.outputSchema === null ? unjudgedText(state) : lastText(state)

/** An answer that the policy does not mention still counts in a state that refuses. */
const answerItem = ({ mentions }: ResolvedPolicy, key: string, text: string): PolicyItem =>
  mentions('answer')
    ? { key, mode: 'ask', event: { type: 'answer', text }, refused: { type: 'answer.refused', text } }
    : { key, mode: 'look' }

/** Says whether a tool of this name could send the policy an event that is not about a call, such as `answer.refused`. */
export const isReserved = (name: string): boolean => name === 'answer' || name === 'steer'

/** A call that the policy is asked about, or its result without a question. */
type JudgedCall = { call: ToolCallPart } & (
  | { item: PolicyItem; isAnswer: boolean }
  | { result: ToolResultPart }
)

/**
 * The calls of the round that may run so far, each with what the policy is asked. A call that cannot be judged, because
 * there is no such tool or its arguments do not fit, gets its error here: it must not run if the tool appears later.
 */
export const judgedCalls = (policy: ResolvedPolicy, state: StreamingState, tools: Tools): JudgedCall[] => {
  const open = new Set([...state.round.cleared, ...state.round.pendingApprovals])
  const calls = currentCalls(state).filter(({ id }) => open.has(id))
  return calls.map((call): JudgedCall => {
    const tool = tools.get(call.name)
    if (!tool) return { call, result: unknownTool(call, [...tools.keys()]) }
    if (call.argumentsError !== undefined) return { call, result: errorResult(call, call.argumentsError) }
    const { args, problem } = argumentsFor(tool, call.arguments)
    if (problem !== undefined) return { call, result: misfit(call, problem) }
    if (tool.inputSchema === null) {
      const item = answerItem(policy, call.id, JSON.stringify(call.arguments))
      return { call, item, isAnswer: true }
    }
    const about = { callId: call.id, args }
    const refused = { type: `${call.name}.refused`, ...about }
    if (isReserved(call.name))
      return { call, item: { key: call.id, mode: 'look', others: 'refuse' }, isAnswer: false }
    const item: PolicyItem = policy.mentions(`${call.name}.call`)
      ? { key: call.id, mode: 'ask', event: { type: `${call.name}.call`, ...about }, refused }
      : { key: call.id, mode: 'look', others: policy.others, refused }
    return { call, item, isAnswer: false }
  })
}

type GivenArguments = { args: unknown; problem?: string }

/** The arguments of calls as they were read, which is the work of their schemas: they are asked for at three moments of a turn. */
const read = new WeakMap<JsonObject, { tool: Tool; found: GivenArguments }>()

/** The arguments that the tool would get. A check that takes time is left to the tool: the policy sees them as they are. */
const argumentsFor = (tool: Tool, given: JsonObject): GivenArguments => {
  const known = read.get(given)
  if (known?.tool === tool) return known.found
  const found = readArguments(tool, given)
  read.set(given, { tool, found })
  return found
}

const readArguments = (tool: Tool, given: JsonObject): GivenArguments => {
  const validation = tool.validate(copyJson(given))
  if (isThenable(validation)) {
    Promise.resolve(validation).catch(() => {})
    return { args: copyJson(given) }
  }
  return validation.ok ? { args: validation.value } : { args: given, problem: validation.problem }
}

/** The outcomes of the calls that the policy has let pass, in the order of the calls. Of an event that no state mentions, nothing is made. */
export const resultItems = (
  { mentions }: Pick<ResolvedPolicy, 'mentions'>,
  state: StreamingState,
  tools: Tools,
): PolicyItem[] => {
  const { round } = state
  const judged = new Set(round.judged ?? [])
  const results = new Map(round.results.flat().map((result) => [result.id, result]))
  return currentCalls(state).flatMap((call): PolicyItem[] => {
    const result = results.get(call.id)
    if (!judged.has(call.id) || !result) return []
    const { id, name } = call
    const about = (end: string, more: () => object = () => ({})): { event?: AnyEventObject } => {
      const type = `${name}.${end}`
      return mentions(type)
        ? { event: { type, callId: id, args: currentArguments(state, call, tools), ...more() } }
        : {}
    }
    if (result.rejected) {
      const rejected = about('rejected', () => ({ reason: errorIn(result) }))
      return [{ key: `${id} rejected`, mode: 'report', ...rejected }]
    }
    const isApproved = round.origins !== undefined && ownOf(round.origins, id) !== undefined
    const approved: PolicyItem = { key: `${id} approved`, mode: 'report', ...about('approved') }
    const isStart = state.tasks?.some((task) => task.id === id)
    const outcome = isStart
      ? about('started')
      : result.isError
        ? about('failed', () => failureOf(call, result))
        : about('done', () => ({ result: valueIn(result), text: result.result }))
    const { event: refused } = about('refused')
    return [
      ...(isApproved ? [approved] : []),
      { key: id, mode: 'show', ...outcome, ...(refused && { refused }) },
    ]
  })
}

/** The outcome of a task, in the words of any other call. One result is judged at a time: others may come meanwhile. */
const taskItems = (state: StreamingState): PolicyItem[] => {
  const task = nextResult(state)
  if (!task) return []
  const { id, tool, status, prompt, result = '' } = task
  const about = { callId: id, args: { prompt } }
  const event =
    status === 'complete'
      ? { type: `${tool}.done`, ...about, result: valueIn({ result }), text: result }
      : { type: `${tool}.failed`, ...about, error: result }
  return [{ key: id, mode: 'show', event, refused: { type: `${tool}.refused`, ...about } }]
}

/** The arguments that a call ran with: a person may have changed them, and its tool may be gone. */
const currentArguments = ({ round }: StreamingState, call: ToolCallPart, tools: Tools): unknown => {
  const given = ownOf(round.edited, call.id) ?? call.arguments
  const tool = tools.get(call.name)
  return tool ? argumentsFor(tool, given).args : copyJson(given)
}

const failureOf = (call: ToolCallPart, result: ToolResultPart): { error: string; inDoubt?: true } => ({
  error: errorIn(result),
  ...(result.result === unknownEffect(call).result && { inDoubt: true }),
})

const errorIn = ({ result }: ToolResultPart): string => {
  const value = parsed(result)
  return isJsonObject(value) && typeof value.error === 'string' ? value.error : result
}

/** The value of a result. One that was cut is null: a guard that looks into it throws, and the run fails. */
const valueIn = ({ result }: Pick<ToolResultPart, 'result'>): unknown => {
  if (!/^\s*[{[]/.test(result)) return result
  const value = parsed(result)
  if (value !== undefined) return value
  return result.includes('characters are left out here') ? null : result
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
