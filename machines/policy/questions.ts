import type { AnyStateMachine } from 'xstate'
import { copyJson, isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { type ToolCallPart, type ToolResultPart, textOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { isThenable } from '../../src/tools/isThenable.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { errorResult, misfit, unknownTool } from '../../src/tools/toolResult.ts'
import type { StreamingState } from '../agent/streamingState.ts'
import { currentCalls, lastMessage, ownOf, unknownEffect } from '../tools/round.ts'
import type { PolicyItem, PolicyQuestion } from './policyLogic.ts'

/** The moments at which a run asks its policy. */
export type Gate = 'Prompt' | 'Calls' | 'Results' | 'Answer'

/** The policy of an agent, with every default filled in. */
export type ResolvedPolicy = {
  machine: AnyStateMachine
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
  items: itemsAt[gate](policy, state, tools),
})

/** The identity of a question: a verdict on another one does not count. */
export const questionId = (gate: Gate, { step, round }: StreamingState): string =>
  `${step}/${gate}/${round.id}`

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
  Results: (_, state, tools) => resultItems(state, tools),
  Answer: (policy, state) =>
    isUnasked(state, 'answer') ? [] : [answerItem(policy, 'answer', lastText(state))],
}

const isUnasked = ({ options }: StreamingState, what: 'prompt' | 'answer'): boolean =>
  options.unasked?.includes(what) ?? false

const lastText = (state: StreamingState): string => {
  const message = lastMessage(state)
  return message ? textOf(message) : ''
}

/** An answer that the policy does not mention still counts in a state that refuses. */
const answerItem = ({ mentions }: ResolvedPolicy, key: string, text: string): PolicyItem =>
  mentions('answer')
    ? { key, mode: 'ask', event: { type: 'answer', text }, refused: { type: 'answer.refused', text } }
    : { key, mode: 'look' }

/** A call that the policy is asked about, or its result without a question. */
export type JudgedCall = { call: ToolCallPart } & (
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
    const item: PolicyItem = policy.mentions(`${call.name}.call`)
      ? { key: call.id, mode: 'ask', event: { type: `${call.name}.call`, ...about }, refused }
      : { key: call.id, mode: 'look', others: policy.others, refused }
    return { call, item, isAnswer: false }
  })
}

/** The arguments that the tool would get. A check that takes time is left to the tool: the policy sees them as they are. */
const argumentsFor = (tool: Tool, given: JsonObject): { args: unknown; problem?: string } => {
  const validation = tool.validate(copyJson(given))
  if (isThenable(validation)) {
    Promise.resolve(validation).catch(() => {})
    return { args: copyJson(given) }
  }
  return validation.ok ? { args: validation.value } : { args: given, problem: validation.problem }
}

/** The outcomes of the calls that the policy has let pass, in the order of the calls. */
const resultItems = (state: StreamingState, tools: Tools): PolicyItem[] => {
  const { round } = state
  const judged = new Set(round.judged ?? [])
  const results = new Map(round.results.flat().map((result) => [result.id, result]))
  return currentCalls(state).flatMap((call): PolicyItem[] => {
    const result = results.get(call.id)
    if (!judged.has(call.id) || !result) return []
    const { id, name } = call
    const about = { callId: id, args: currentArguments(state, call, tools) }
    if (result.rejected) {
      const event = { type: `${name}.rejected`, ...about, reason: errorIn(result) }
      return [{ key: `${id} rejected`, mode: 'report', event }]
    }
    const isApproved = round.origins !== undefined && ownOf(round.origins, id) !== undefined
    const approved: PolicyItem = {
      key: `${id} approved`,
      mode: 'report',
      event: { type: `${name}.approved`, ...about },
    }
    const refused = { type: `${name}.refused`, ...about }
    const event = result.isError
      ? { type: `${name}.failed`, ...about, ...failureOf(call, result) }
      : { type: `${name}.done`, ...about, result: valueIn(result), text: result.result }
    return [...(isApproved ? [approved] : []), { key: id, mode: 'show', event, refused }]
  })
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
const valueIn = ({ result }: ToolResultPart): unknown => {
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
