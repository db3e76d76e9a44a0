import {
  type Compaction,
  compactionMarker,
  isSummary,
  seenOf,
  withoutResults,
} from '../../src/messages/compaction.ts'
import type { ErrorData } from '../../src/messages/errors.ts'
import { copyJson, isJsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, textPart, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import type { CompactionOptions, ResolvedConfig } from '../agent/agentConfig.ts'
import { append, type StreamingState, type Window } from '../agent/streamingState.ts'
import type { Migration } from '../stored/version.ts'
import { charactersIn, fixedCharacters, requestCharacters, sizeOf } from './requestSize.ts'
import { type SummariserInput, summaryPrompt } from './summariser.ts'

// How much of a conversation fits, and what is left out when it does not.

/** Tokens of a character before anything was measured, and the bounds of what is believed. */
const usualRatio = 0.25
const smallestRatio = 0.05
const largestRatio = 2

/** The share of the window that may be filled, and the share that is kept word for word. */
const usualShare = 0.8
const keptShare = 0.25
/** Clearing must free that much to be worth it: the prompt cache is written again each time. */
const clearedShare = 0.6

export const isOverflow = (error: ErrorData | null): boolean => error?.code === 'context_overflow'

/** The tokens of a small request: no window is smaller. */
const smallRequest = 4000

/** The options of the user; none where compaction is off. */
const chosen = ({ compaction }: ResolvedConfig): CompactionOptions & { isAhead?: boolean } => ({
  ...compaction,
})

const believed = (ratio: number): number => Math.min(largestRatio, Math.max(smallestRatio, ratio))

/** Measures the room by an answer, which says how many tokens its request had. */
export const measured = (config: ResolvedConfig, state: StreamingState): Window => {
  const { inputTokens = 0 } = state.answer.accumulated.usage ?? {}
  const { window } = state
  const { isAhead = false } = chosen(config)
  // Measuring costs about as much as writing the request, and most runs are over before anything is full.
  const isOfUse = isAhead || window.tokens !== null || inputTokens > smallRequest
  if (inputTokens <= 0 || !isOfUse) return window
  // A server such as Ollama throws away the front of a request that is too long, and says nothing: a conversation that
  // has only grown cannot be fewer tokens than before.
  const isCutOff = isAhead && inputTokens < (window.input ?? 0)
  if (isCutOff)
    return { ...window, tokens: Math.min(inputTokens, window.tokens ?? inputTokens), due: 'overflow' }
  return { ...window, input: inputTokens, ratio: believed(inputTokens / requestCharacters(config, state)) }
}

const tokensOf = ({ window }: StreamingState, characters: number): number =>
  Math.ceil(characters * (window.ratio ?? usualRatio))

/** The tokens of the next request, as far as they can be estimated. */
const estimate = (config: ResolvedConfig, state: StreamingState): number =>
  tokensOf(state, requestCharacters(config, state))

/** The window that a provider named when it refused a request, or showed by refusing it: it may name too much. */
export const learned = (config: ResolvedConfig, state: StreamingState): Window => {
  const { window: named = Number.POSITIVE_INFINITY, requested = 0 } = state.failure ?? {}
  const characters = requestCharacters(config, state)
  const ratio = state.window.ratio ?? (requested > 0 ? believed(requested / characters) : null)
  const size = tokensOf({ ...state, window: { ...state.window, ratio } }, characters)
  // Counted in our way: the provider may count more than the input, or other things than we do.
  const fits = requested > named ? size * (named / requested) : Math.min(named, size)
  return {
    ...state.window,
    ratio,
    tokens: Math.max(1, Math.floor(Math.min(fits, state.window.tokens ?? fits))),
    due: 'overflow',
  }
}

/** The tokens of input that fit, as far as that is known. */
const windowOf = (config: ResolvedConfig, state: StreamingState): number | undefined => {
  const { window, isAhead } = chosen(config)
  const { tokens } = state.window
  const { maxOutputTokens: reserve = 0 } = { ...config.settings, ...state.options.settings }
  const known = window ?? (isAhead ? config.models[state.request.modelIndex]?.profile.window : undefined)
  const usable = known === undefined ? undefined : Math.max(known / 2, known - reserve)
  const found = Math.min(usable ?? Number.POSITIVE_INFINITY, tokens ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(found) ? found : undefined
}

/** The tokens that a request should stay below. */
const threshold = (config: ResolvedConfig, state: StreamingState): number | undefined => {
  const window = windowOf(config, state)
  return window === undefined ? undefined : window * (chosen(config).at ?? usualShare)
}

/** The place at which the conversation is cut: a result stays with its call, and the last message stays. */
const cutOf = (config: ResolvedConfig, state: StreamingState): number => {
  const seen = seenOf(state.history)
  const whole = windowOf(config, state) ?? estimate(config, state)
  const most = chosen(config).keepTokens ?? whole * keptShare
  let cut = seen.length
  let size = 0
  for (let start = seen.length - 1; start >= 0; start -= 1) {
    size += tokensOf(state, sizeOf(seen[start] as ChatMessage))
    if (size > most && cut < seen.length) break
    // The results of a round belong to the message before them.
    if (toolResultsOf(seen[start] as ChatMessage).length === 0) cut = start
  }
  return cut
}

/** The messages that are not kept word for word. */
const olderOf = (config: ResolvedConfig, state: StreamingState): ChatMessage[] =>
  seenOf(state.history).slice(0, cutOf(config, state))

/** The length in characters up to which a single message is not worth a summary. */
const shortMessage = 2000

/** Says whether less could be sent: a summary, or a message that is no longer than one, is as short as it gets. */
const canShrink = (config: ResolvedConfig, state: StreamingState): boolean => {
  if (config.compaction === false) return false
  const older = olderOf(config, state)
  return (older.length > 1 || charactersIn(older) > shortMessage) && !older.every(isSummary)
}

/** Says, between two steps, whether the next request is too long, or a command asked for a compaction. */
export const isTooFull = (config: ResolvedConfig, state: StreamingState): boolean => {
  if (!config.compaction || state.window.compactedAt.at(-1) === state.step) return false
  const most = threshold(config, state)
  const isFull = most !== undefined && estimate(config, state) > most
  return (isFull || state.window.due !== null) && canShrink(config, state)
}

/** Says, after a request was refused, whether a compaction may help: not twice without an answer between. */
export const mayCompact = (config: ResolvedConfig, state: StreamingState): boolean =>
  isOverflow(state.failure) &&
  state.window.compactedAt.at(-1) !== state.step - 1 &&
  canShrink(config, { ...state, window: learned(config, state) })

const afterCut = (config: ResolvedConfig, state: StreamingState, older: readonly ChatMessage[]): number => {
  const kept = seenOf(state.history).slice(cutOf(config, state))
  return tokensOf(state, charactersIn([...older, ...kept]) + fixedCharacters(config, state))
}

/** Says whether it is enough to clear the results of tools. */
export const isClearingEnough = (config: ResolvedConfig, state: StreamingState): boolean => {
  const after = afterCut(config, state, olderOf(config, state).map(withoutResults))
  const most = threshold(config, state) ?? estimate(config, state)
  return after <= most * clearedShare
}

/** The compaction, and the marker of it that joins the conversation. */
const compacted = (
  config: ResolvedConfig,
  state: StreamingState,
  kind: Compaction['kind'],
  summary = '',
): { marker: ChatMessage; compaction: Compaction } => {
  const cut = cutOf(config, state)
  const older: ChatMessage[] =
    kind === 'cleared'
      ? olderOf(config, state).map(withoutResults)
      : [{ role: 'user', parts: [textPart(summary)] }]
  const compaction: Compaction = {
    kind,
    kept: seenOf(state.history).length - cut,
    tokensBefore: estimate(config, state),
    tokensAfter: afterCut(config, state, older),
    reason: state.window.due ?? 'full',
  }
  return { marker: compactionMarker(compaction, summary), compaction }
}

/** Adds the marker of a summary, or of cleared tool results, to the conversation. */
export const compact = (
  config: ResolvedConfig,
  state: StreamingState,
  summary?: string,
): { change: Partial<StreamingState>; compaction: Compaction } => {
  const kind = summary === undefined ? 'cleared' : 'summarised'
  const { marker, compaction } = compacted(config, state, kind, summary)
  return {
    change: { ...append(state, marker), window: afterCompaction(state), failure: null },
    compaction,
  }
}

/** Says whether a summary makes the conversation shorter. */
export const isShorter = (config: ResolvedConfig, state: StreamingState, summary: string): boolean => {
  const { compaction } = compact(config, state, summary)
  return compaction.tokensAfter < compaction.tokensBefore
}

/** The messages that the summary is made of: after each request that was too long itself, half as many. */
const toSummarise = (config: ResolvedConfig, state: StreamingState): ChatMessage[] => {
  const older = olderOf(config, state)
  return older.slice(older.length - (older.length >> state.window.halvings))
}

/** Says whether a request for a summary fits, as far as that is known. */
export const isSummaryShort = (config: ResolvedConfig, state: StreamingState): boolean => {
  const most = windowOf(config, state)
  return most === undefined || tokensOf(state, charactersIn(summaryRequest(config, state))) < most
}

/** Says whether there is a half that can be left out. */
export const hasHalf = (config: ResolvedConfig, state: StreamingState): boolean =>
  olderOf(config, state).length >> (state.window.halvings + 1) > 0

/** The request for a summary. */
const summaryRequest = (config: ResolvedConfig, state: StreamingState): ChatMessage[] => {
  const messages = toSummarise(config, state)
  const leftOut = olderOf(config, state).length - messages.length
  return [userMessage(summaryPrompt(messages, leftOut, chosen(config).instructions))]
}

/** The input of the summariser. */
export const summariserInput = (config: ResolvedConfig, state: StreamingState): SummariserInput => ({
  messages: summaryRequest(config, state),
  modelIndex: state.request.modelIndex,
  name: `${state.options.id}/summary ${state.step}.${state.window.halvings}`,
  at: state.request.retryAt,
  deadlineAt: state.deadlineAt,
})

/** Renews the input of a stored summariser: a summary is asked for with the current prompt. */
export const renewSummariser =
  (config: ResolvedConfig): Migration =>
  (stored) => {
    const children = isJsonObject(stored.children) ? stored.children : {}
    const { summariser } = children
    if (!isJsonObject(summariser) || !isJsonObject(summariser.snapshot)) return stored
    const input = copyJson(summariserInput(config, stored.context as never as StreamingState))
    const snapshot = { ...summariser.snapshot, input }
    return { ...stored, children: { ...children, summariser: { ...summariser, snapshot } } }
  }

/** Begins a compaction with a clean slate. */
export const beginCompaction = ({ window, request }: StreamingState): Partial<StreamingState> => ({
  window: { ...window, due: window.due ?? 'full', halvings: 0 },
  request: { ...request, attempt: 0, retryAt: 0 },
})

/** The number of compactions, within so many steps, that no longer gain anything. */
const mostCompactions = 3
const withinSteps = 6

/** Counts the compactions in the last steps; 0 while there are few. */
export const compactionsInARow = ({ window, step }: StreamingState): number => {
  const first = window.compactedAt.at(-mostCompactions) ?? Number.NEGATIVE_INFINITY
  return step - first < withinSteps ? mostCompactions : 0
}

/** The window after a compaction at this step. */
const afterCompaction = ({ window, step }: StreamingState): Window => ({
  ...window,
  input: null,
  due: null,
  halvings: 0,
  compactedAt: [...window.compactedAt, step].slice(-mostCompactions),
})
