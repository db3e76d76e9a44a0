import { type Part, textPart } from '../src/messages/messages.ts'
import { type CompositeRun, initialComposite } from './compositeRun.ts'
import type { AgentEmitted, AgentInput } from './events.ts'
import { isRunEnd } from './phase.ts'

/** The data of an answer that is found in phases. */
export type PhasedRun = CompositeRun & {
  /** What the whole answers with. */
  answer: string
  /** The phase whose text was shown last. */
  shown: string
}

export const initialPhases = (input: AgentInput): PhasedRun => ({
  ...initialComposite(input),
  answer: '',
  shown: '',
})

/** The user's question with the task of the first phase below it: two user messages in a row would not be a dialogue. */
export const firstQuestion = ({ input }: PhasedRun, task: string): AgentInput => {
  const { prompt = [], attachments = [], history = [] } = input
  // As below.
  if (typeof prompt !== 'string' && !Array.isArray(prompt)) return input
  const asked: Part[] = [...(typeof prompt === 'string' ? [textPart(prompt)] : prompt), ...attachments]
  if (asked.length > 0) return { history, prompt: [...asked, textPart(`\n\n${task}`)] }
  // Nothing was asked, or the history does it: the run itself knows which of the two is a mistake.
  return history.at(-1)?.role === 'user' ? { history, prompt: task } : { history }
}

/** What the listeners of the whole are told of what a run emits: its content belongs to a phase. */
export const inPhase = (
  state: PhasedRun,
  emitted: AgentEmitted,
  phase: string,
): { told: AgentEmitted[]; shown: string } => {
  if (isRunEnd(emitted)) return { told: [], shown: state.shown }
  if (emitted.type !== 'chunk' || emitted.messages.length > 0) return { told: [emitted], shown: state.shown }
  const { output } = emitted
  const metadata = { ...emitted.metadata, phase }
  if (output === '') return { told: [{ ...emitted, metadata }], shown: state.shown }
  return { told: [{ ...emitted, metadata, output: separator(state, phase) + output }], shown: phase }
}

/** As between two messages of one run: a newline, in the stream only, and never in typed output. */
const separator = ({ shown, input }: PhasedRun, phase: string): string =>
  shown === '' || shown === phase || input.outputSchema ? '' : '\n'
