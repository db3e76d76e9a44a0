import type { ErrorData } from '../src/messages/errors.ts'
import { copyJson } from '../src/messages/json.ts'
import type { ChatMessage } from '../src/messages/messages.ts'
import { mergeMetadata } from '../src/messages/metadata.ts'
import { addUsage } from '../src/messages/result.ts'
import type { RunResult } from './agentOutput.ts'
import type { AgentInput, AgentOutput } from './events.ts'

/** The data of a run that is made of several runs: what they brought, put together. JSON only. */
export type CompositeRun = RunResult & { input: AgentInput }

/** The data of a run of runs before the first of them. */
export const initialComposite = (input: AgentInput): CompositeRun => ({
  input: ownCopy(input),
  responseId: '',
  messages: [],
  finishReason: 'unspecified',
  rawFinishReason: null,
  metadata: {},
  usage: null,
  failure: null,
  abortReason: '',
})

/** As for a single run; an input that cannot be copied is refused by the first one. */
const ownCopy = (input: AgentInput): AgentInput => {
  try {
    return copyJson(input ?? {}) as AgentInput
  } catch {
    return input
  }
}

/** The conversation as the next run sees it. */
export const historyOf = ({ input, messages }: CompositeRun): ChatMessage[] => [
  ...(input.history ?? []),
  ...messages,
]

/** Adds what a run brought. */
export const absorb = (state: CompositeRun, output: AgentOutput): Partial<CompositeRun> => ({
  responseId: output.id || state.responseId,
  messages: [...state.messages, ...output.messages, ...unanswered(state, output)],
  finishReason: state.finishReason === 'aborted' ? 'aborted' : output.finishReason,
  rawFinishReason: output.rawFinishReason ?? null,
  metadata: mergeMetadata(state.metadata, output.metadata),
  usage: addUsage(state.usage ?? undefined, output.usage) ?? null,
  failure: output.status === 'failed' ? output.error : null,
  abortReason: output.status === 'aborted' ? output.reason : state.abortReason,
})

/**
 * The marked message that stands for the answer of a run that ended before its first word: as after a tool round, a
 * conversation cannot go on from two user messages in a row.
 */
const unanswered = (
  { messages }: CompositeRun,
  { status, finishReason, ...run }: AgentOutput,
): ChatMessage[] => {
  const isLost = status !== 'complete' && run.messages.at(-1)?.role === 'user'
  return isLost && messages.some(({ role }) => role === 'model')
    ? [{ role: 'model', parts: [], metadata: { interrupted: finishReason } }]
    : []
}

/** A child that broke instead of ending: a bug of an adapter or of the orchestrator itself. */
export const brokenRun = (error: ErrorData, orchestrator: string, state: string): Partial<CompositeRun> => ({
  failure: { ...error, orchestrator, state },
  finishReason: 'error',
})
