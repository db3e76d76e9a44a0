import { lastSaid } from '../../src/messages/compaction.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import {
  type ChatMessage,
  type ToolCallPart,
  textOf,
  textPart,
  toolCallsOf,
} from '../../src/messages/messages.ts'
import { addMetadata, mergeMetadata, wholeMetadata } from '../../src/messages/metadata.ts'
import { addUsage, type FinishReason, type Usage } from '../../src/messages/result.ts'
import { type Accumulator, nothingAccumulated } from '../../src/model/accumulator.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import type { WireToolCall } from '../../src/model/delta.ts'
import { costOf } from '../../src/model/prices.ts'
import { unwrapped } from '../../src/tools/deferred.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { withRequest } from '../model/requestPrefix.ts'
import { missingResult, resultMessage } from '../tools/results.ts'
import { currentCalls } from '../tools/round.ts'
import type { ResolvedConfig } from './agentConfig.ts'
import type { PreparedRequest } from './events.ts'
import {
  type Answer,
  append,
  copyOf,
  emptyAnswer,
  noRound,
  type StreamingState,
  type Totals,
} from './streamingState.ts'

// An answer of the model, from its begin to its end, good or bad: the chart's actions on it, as pure functions from state
// to state.

type Change = Partial<StreamingState>

export const beginStep = (state: StreamingState, now: number): Change => ({
  ...beginAttempt(state, now),
  step: state.step + 1,
  request: { ...state.request, attempt: 0, prepared: null },
  round: noRound,
  window: { ...state.window, due: null },
})

export const beginAttempt = (state: StreamingState, now: number): Change => ({
  answer: emptyAnswer(now, isNewlineDue(state)),
  failure: null,
})

/** Forgets an attempt whose text listeners have discarded: a run that ends during the wait must not bring it back. */
export const forgetAttempt = ({ answer }: StreamingState): Change => ({
  answer: { ...emptyAnswer(answer.askedAt, answer.newlineDue), firstChunkAt: answer.firstChunkAt },
})

/**
 * Says whether a newline is due: a message that is not the first of its run is set off from what was shown before;
 * typed output never is.
 */
export const isNewlineDue = ({ options, messages, paused }: StreamingState): boolean =>
  options.outputSchema === null &&
  messages.some(({ role }) => role === 'model') &&
  (!paused || textOf(paused) === '')

/** Counts a finished request, and drafts the message that it brought. */
export const consolidate = (
  state: StreamingState,
  accumulator: Accumulator,
  tools: ReadonlyMap<string, Tool>,
  newId: () => string,
): Change => ({
  totals: { ...totalsAfter(state), finishReason: finishReasonOf(state) },
  // A copy: a user's accumulator may return anything, and keep it.
  draft: copyOf(consolidated(state, accumulator, tools, newId)),
})

/** The finished message, with a unique id for each tool call. Not yet part of the history. */
const consolidated = (
  state: StreamingState,
  accumulator: Accumulator,
  tools: ReadonlyMap<string, Tool>,
  newId: () => string,
): ChatMessage => {
  const { accumulated, sent } = state.answer
  const { prefix } = state.totals
  const received = accumulator.consolidate(accumulated)
  const message = sent && prefix ? withRequest(received, prefix) : received
  const { parts, providerCallIds } = assignToolIds(
    accumulated.calls.map((call) => unwrapped(call, tools)),
    [...state.history, ...(state.paused ? [state.paused] : [])],
    newId,
  )
  const renamed = Object.keys(providerCallIds).length > 0
  const whole: ChatMessage = {
    ...message,
    parts: [...message.parts, ...parts],
    ...(renamed && { metadata: { ...message.metadata, providerCallIds } }),
  }
  return state.paused ? continued(state.paused, whole) : whole
}

/** Joins the part of a message before a provider's pause with the part after it. */
const continued = (before: ChatMessage, after: ChatMessage): ChatMessage => {
  const text = textOf(before) + textOf(after)
  const rest = [...before.parts, ...after.parts].filter((part) => part.type !== 'text')
  const metadata = mergeMetadata(before.metadata ?? {}, after.metadata ?? {})
  return {
    role: 'model',
    parts: [...(text === '' ? [] : [textPart(text)]), ...rest],
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** The totals with those of the current request, even if its message is dropped. */
const totalsAfter = ({ totals, answer: { accumulated, shown } }: StreamingState): Totals => ({
  responseId: accumulated.responseId || totals.responseId,
  finishReason: totals.finishReason,
  rawFinishReason: accumulated.finish?.raw ?? null,
  usage: addUsage(totals.usage ?? undefined, accumulated.usage ?? undefined) ?? null,
  metadata: addMetadata(totals.metadata, {
    ...wholeMetadata(shown),
    ...(accumulated.thinking !== '' && { thinking: accumulated.thinking }),
  }),
  ...(totals.warnings && { warnings: totals.warnings }),
  ...(totals.prefix && { prefix: totals.prefix }),
})

/**
 * The reason why an answer ended. If a provider reports tool calls but made none, or gives no reason, it simply
 * stopped; an unknown reason is `unspecified`.
 */
const finishReasonOf = ({ answer }: StreamingState): FinishReason => {
  const { finish, calls } = answer.accumulated
  const reason = finish?.reason ?? 'unspecified'
  if (reason !== 'toolCalls' && reason !== 'unspecified') return reason
  if (calls.length > 0) return 'toolCalls'
  const isUnknown = reason === 'unspecified' && finish?.raw !== undefined && !finish.pause
  return isUnknown ? 'unspecified' : 'stop'
}

export const isEmptyAnswer = ({ answer, paused }: StreamingState): boolean => {
  const { text, calls, media, finish } = answer.accumulated
  return (
    text === '' &&
    calls.length === 0 &&
    media.length === 0 &&
    paused === null &&
    finish?.reason !== 'length' &&
    finish?.reason !== 'contentFilter'
  )
}

/** Says whether a provider paused for its own work, such as a compaction, and showed nothing of it. */
const isEmptyPause = ({ answer }: StreamingState): boolean => {
  const { text, thinking, calls, media, metadata, finish } = answer.accumulated
  const isEmpty = [calls, media, metadata].every(({ length }) => length === 0)
  return finish?.pause === true && text === '' && thinking === '' && isEmpty
}

/** Says whether the provider paused for nothing twice in a row: it would do so for ever. */
export const isPausedInVain = (state: StreamingState): boolean =>
  isEmptyPause(state) &&
  state.paused !== null &&
  state.bounds.emptyAnswers > 0 &&
  state.bounds.reached === null

/** Keeps the part of an answer that continues after a pause. */
export const keepPaused = (state: StreamingState): Change => ({
  ...answerTaken(state),
  paused: state.draft,
  bounds: { ...state.bounds, emptyAnswers: isEmptyPause(state) ? state.bounds.emptyAnswers + 1 : 0 },
})

/** Adds the finished message to the conversation. */
export const storeDraft = (state: StreamingState): Change => ({
  ...(state.draft && append(state, state.draft)),
  ...answerTaken(state),
  paused: null,
  draft: null,
})

/** Clears an answer that was counted, so that nothing counts twice. */
export const answerTaken = ({ answer }: StreamingState): Change => ({
  answer: { ...answer, accumulated: nothingAccumulated, shown: [] },
})

/**
 * The message that ends a run whose last message is the user's, such as tool results: a conversation cannot continue
 * from two user messages in a row.
 */
export const closingMessage = ({ history, totals }: StreamingState): ChatMessage | undefined => {
  if (lastSaid(history)?.role !== 'user') return undefined
  const { finishReason } = totals
  return {
    role: 'model',
    parts: [],
    ...(finishReason !== 'stop' && { metadata: { interrupted: finishReason } }),
  }
}

/** The usage of the current answer, with its cost: the provider's own figure, the user's price, or the list price. */
export const priced = (config: ResolvedConfig, { answer, request }: StreamingState): Usage | null =>
  withCost(config, request.prepared ?? config.models[request.modelIndex], answer.accumulated.usage)

/** The usage of a summary, with its cost. */
export const usageOfSummary = (
  config: ResolvedConfig,
  { request }: StreamingState,
  usage: Usage | null,
): Usage | null => {
  const { model } = { ...config.compaction }
  return withCost(config, model ?? config.models[request.modelIndex], usage)
}

const withCost = (
  { price }: ResolvedConfig,
  asked: ChatModel | PreparedRequest | undefined,
  usage: Usage | null,
): Usage | null => {
  if (!usage || usage.cost !== undefined || !asked) return usage
  const { provider, model } = asked
  try {
    const cost = price ? price({ provider, model }, { ...usage }) : listedCost(asked, usage)
    return Number.isFinite(cost) ? { ...usage, cost: cost as number } : usage
  } catch {
    return usage
  }
}

const listedCost = (asked: ChatModel | PreparedRequest, usage: Usage): number | undefined => {
  const { prices } = 'profile' in asked ? asked.profile : asked
  return prices && costOf(usage, prices)
}

export const withUsageOf = (answer: Answer, usage: Usage | null): Answer => ({
  ...answer,
  accumulated: { ...answer.accumulated, usage },
})

/** Closes the books of a run that did not complete. */
export const settle = (
  state: StreamingState,
  newId: () => string,
): { change: Partial<StreamingState> & Pick<StreamingState, 'totals'>; messages: ChatMessage[] } => {
  const messages = interruptedMessages(state, newId)
  return {
    messages,
    change: {
      ...append(state, ...messages),
      ...answerTaken(state),
      totals: {
        ...totalsAfter(state),
        rawFinishReason:
          state.failure?.rawFinishReason ??
          state.answer.accumulated.finish?.raw ??
          state.totals.rawFinishReason,
      },
      paused: null,
    },
  }
}

/**
 * The messages that an interrupted run leaves behind, so that the history stays valid and nothing is lost: results
 * for every call (those that did not run say so), and the text received so far as a marked model message. The marked
 * message is also there, empty, after a tool round: a conversation cannot continue from two user messages in a row.
 */
const interruptedMessages = (
  state: StreamingState,
  newId: () => string,
  reason: string = state.totals.finishReason,
): ChatMessage[] => {
  if (isRefused(state)) return []
  const marked = { interrupted: reason }
  const nothing: ChatMessage = { role: 'model', parts: [], metadata: marked }
  if (currentCalls(state).length > 0) return [resultMessage(state), nothing]
  const partial = partialMessage(state, newId)
  const calls = toolCallsOf(partial)
  if (calls.length > 0) {
    return [partial, { role: 'user', parts: calls.map(missingResult(state)) }, nothing]
  }
  if (partial.parts.length > 0) return [{ ...partial, metadata: { ...partial.metadata, ...marked } }]
  // The last message is the user's: the prompt, or results. Only the policy may still decide on an answer.
  const isOpen = lastSaid(state.history)?.role === 'user'
  return isOpen && state.messages.some((message) => message.role === 'model') ? [nothing] : []
}

/** The messages that keep the part of an answer which a message of the user cuts off: the user's message can follow them. */
export const cutMessages = (state: StreamingState, newId: () => string, isShown: boolean): ChatMessage[] => {
  const kept = isShown ? interruptedMessages(state, newId, 'message') : []
  return kept.length > 0 ? kept : [{ role: 'model', parts: [], metadata: { interrupted: 'message' } }]
}

/** The input was not accepted: its problems are not part of this run. */
const isRefused = ({ step }: StreamingState): boolean => step === 0

/** The message received so far, without signed and encrypted blocks: half of one is useless. */
const partialMessage = (state: StreamingState, newId: () => string): ChatMessage => {
  const { text, thinking, calls } = state.answer.accumulated
  const whole = (state.paused ? textOf(state.paused) : '') + text
  const complete = calls.filter((call) => call.argumentsError === undefined)
  const { parts } = assignToolIds(complete, state.history, newId)
  return {
    role: 'model',
    parts: [...(whole === '' ? [] : [textPart(whole)]), ...parts],
    ...(thinking !== '' && { metadata: { thinking } }),
  }
}

/**
 * Gives every call of a message an id that is unique in the conversation: the provider's own where it is non-empty and
 * unused, a new one otherwise. If a provider reuses the id of an earlier message, its own id is kept in
 * `providerCallIds`, because that is the one it expects with the result.
 */
const assignToolIds = (
  calls: readonly WireToolCall[],
  history: readonly ChatMessage[],
  newId: () => string,
): { parts: ToolCallPart[]; providerCallIds: JsonObject } => {
  if (calls.length === 0) return { parts: [], providerCallIds: {} }
  const earlier = new Set<string>()
  for (const { parts } of history)
    for (const part of parts) if (part.type === 'toolCall') earlier.add(part.id)
  const here = new Set<string>()
  const renamed: [string, string][] = []
  const parts = calls.map((call): ToolCallPart => {
    const usable = call.id !== '' && !here.has(call.id)
    const id = usable && !earlier.has(call.id) ? call.id : newId()
    if (usable && id !== call.id) renamed.push([id, call.id])
    here.add(call.id)
    return { type: 'toolCall', ...call, id }
  })
  return { parts, providerCallIds: Object.fromEntries(renamed) }
}
