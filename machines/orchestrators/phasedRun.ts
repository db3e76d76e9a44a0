import { copyJson } from '../../src/messages/json.ts'
import { type ChatMessage, type Part, textPart } from '../../src/messages/messages.ts'
import { addMetadata } from '../../src/messages/metadata.ts'
import { addUsage, addWarnings } from '../../src/messages/result.ts'
import { prefixOf, type RunResult, textOfRun } from '../agent/agentOutput.ts'
import type { AgentEmitted, AgentInput, AgentOutput } from '../agent/events.ts'
import { nothingYet } from '../agent/streamingState.ts'
import type { RequestPrefix } from '../model/requestPrefix.ts'
import { snapshotVersion } from '../stored/version.ts'

/** The data of an answer that is found in several runs: what they brought, put together. JSON only. */
export type PhasedRun = RunResult & {
  /** The version of the shape of this data: see `snapshotVersion`. */
  version: string
  input: AgentInput
  /** The answer of the whole; null while it is the text of all phases. */
  answer: string | null
  /** The label of the phase whose text was shown last. */
  shown: string
}

/** The data before the first run. */
export const initialPhases = (input: AgentInput): PhasedRun => ({
  version: snapshotVersion,
  input: ownCopy(input),
  messages: [],
  totals: { ...nothingYet, ...withPrefix(input?.prefix) },
  failure: null,
  abortReason: '',
  answer: null,
  shown: '',
})

/** Copies the input, as a single run does; one that cannot be copied is refused by the first run. */
const ownCopy = (input: AgentInput): AgentInput => {
  try {
    return copyJson(input ?? {}) as AgentInput
  } catch {
    return input
  }
}

/** The conversation as the next run sees it. */
export const historyOf = ({ input, messages }: Pick<PhasedRun, 'input' | 'messages'>): ChatMessage[] => [
  ...(input.history ?? []),
  ...messages,
]

/** The user's question with the task of the first phase below it: two user messages in a row would not be a dialogue. */
export const firstQuestion = ({ input }: PhasedRun, task: string): AgentInput => {
  const { prompt = [], attachments = [], history = [], metadata } = input
  // As below.
  if (typeof prompt !== 'string' && !Array.isArray(prompt)) return input
  const asked: Part[] = [...(typeof prompt === 'string' ? [textPart(prompt)] : prompt), ...attachments]
  if (asked.length > 0)
    return { history, prompt: [...asked, textPart(`\n\n${task}`)], ...(metadata && { metadata }) }
  // There is no prompt, or the history has it: the run itself knows which of the two is a mistake.
  return history.at(-1)?.role === 'user' ? { history, prompt: task } : { history }
}

/** Adds the messages, the usage and the end of a run to the whole. */
export const absorb = <State extends PhasedRun>(
  { messages, totals, abortReason }: State,
  output: AgentOutput,
): Partial<PhasedRun> => ({
  messages: [...messages, ...output.messages, ...unanswered(messages, output)],
  totals: {
    responseId: output.id || totals.responseId,
    // An abort that came when the run had ended already still counts.
    finishReason: totals.finishReason === 'aborted' ? 'aborted' : output.finishReason,
    rawFinishReason: output.rawFinishReason ?? null,
    usage: addUsage(totals.usage ?? undefined, output.usage) ?? null,
    metadata: addMetadata(totals.metadata, output.metadata),
    ...((totals.warnings || output.warnings) && addedWarnings(totals, output)),
    ...withPrefix(prefixOf(output) ?? totals.prefix),
  },
  ...(output.policy && { policy: output.policy }),
  failure: output.status === 'failed' ? output.error : null,
  abortReason: output.status === 'aborted' ? output.reason : abortReason,
})

const withPrefix = (prefix: RequestPrefix | undefined): { prefix?: RequestPrefix } =>
  prefix ? { prefix } : {}

const addedWarnings = (
  totals: Pick<AgentOutput, 'warnings'>,
  output: Pick<AgentOutput, 'warnings'>,
): Pick<AgentOutput, 'warnings'> => ({ warnings: addWarnings(totals.warnings, output.warnings).warnings })

/**
 * The marked message in place of the answer of a run that ended before its first word: as after a tool round, a
 * conversation cannot continue from two user messages in a row.
 */
export const unanswered = (
  before: readonly ChatMessage[],
  { status, finishReason, messages }: AgentOutput,
): ChatMessage[] => {
  // A run without its own prompt continues from the user's last message.
  const isLost = status !== 'complete' && [...before, ...messages].at(-1)?.role === 'user'
  return isLost && before.some(({ role }) => role === 'model')
    ? [{ role: 'model', parts: [], metadata: { interrupted: finishReason } }]
    : []
}

/** The text that the whole answers with. */
export const answerOf = ({ answer, messages }: PhasedRun): string => answer ?? textOfRun(messages)

/**
 * Says whether an emission is the end of a run, which is not the end of the whole. Only the last chunk brings
 * nothing; its finish reason does not show it, because some providers end without a known one.
 */
export const isRunEnd = (emitted: AgentEmitted): boolean =>
  emitted.type === 'chunk' &&
  emitted.output === '' &&
  emitted.messages.length === 0 &&
  Object.keys(emitted.metadata).length === 0

/** The emissions of a phase as the listeners of the whole get them, and the label that was shown last. */
export const labelled = (
  state: PhasedRun,
  emitted: readonly AgentEmitted[],
  label: string,
): { shown: string; emitted: AgentEmitted[] } => {
  let { shown } = state
  const isSetOff = !state.input.outputSchema
  const labelledEvents = emitted.map((each): AgentEmitted => {
    if (each.type !== 'chunk' || each.messages.length > 0) return each
    const metadata = { ...each.metadata, phase: label }
    if (each.output === '') return { ...each, metadata }
    // As between two messages of one run: a newline, in the stream only, and never in typed output.
    const separator = isSetOff && shown !== '' && shown !== label ? '\n' : ''
    shown = label
    return { ...each, metadata, output: separator + each.output }
  })
  return { shown, emitted: labelledEvents }
}
