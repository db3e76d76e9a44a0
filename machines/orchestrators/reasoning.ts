import { checkOptions, fields, text } from '../../src/messages/optionRules.ts'
import type { AgentInput } from '../agent/events.ts'
import type { Orchestrator, OrchestratorParts } from './orchestrator.ts'
import { createPhasedMachine, type PhasedMachine, type PhasedOptions } from './phasedMachine.ts'
import { firstQuestion, historyOf, type PhasedRun } from './phasedRun.ts'

/** The phases of `reasoningOrchestrator`, in order. */
export type ReasoningPhase = 'analysis' | 'hypothesis' | 'evidence' | 'synthesis'

/** The states of its chart. */
type ReasoningState = 'Analysis' | 'Hypothesis' | 'Evidence' | 'Synthesis'

/** Options of {@link reasoningOrchestrator}. */
export type ReasoningOptions = {
  /** Your own prompts for the phases. Default: prompts for each. */
  prompts?: Partial<Record<ReasoningPhase, string>>
}

const defaultPrompts: Record<ReasoningPhase, string> = {
  analysis:
    'First analyse the question: what exactly is asked, what is known, what is missing. Do not answer it yet.',
  hypothesis:
    'Now give the answers that could be right, as hypotheses. Say of each what would confirm it and what would refute it.',
  evidence:
    'Now gather the evidence for and against each hypothesis. Use the tools where they help; say what you could not find out.',
  synthesis:
    'Now answer the question on the basis of the evidence. This is the final answer: it must make sense to a reader who has not seen the earlier steps.',
}

/**
 * Answers in four phases: analysis, hypotheses, evidence (the only phase with tools), synthesis. The output is the
 * synthesis; the messages of all phases are in the result, and each chunk has its phase in `metadata.phase`.
 *
 * @example
 * const agent = new Agent('anthropic:claude-sonnet-5-5', { tools: [search], orchestrator: reasoningOrchestrator() })
 */
export const reasoningOrchestrator = (
  options: ReasoningOptions = {},
): Orchestrator<PhasedMachine<ReasoningState>> => {
  checkOptions<ReasoningOptions>('The options of reasoningOrchestrator', options, {
    prompts: fields({ analysis: text, hypothesis: text, evidence: text, synthesis: text }),
  })
  return {
    providerHint: 'reasoning',
    create: (parts) => createPhasedMachine(reasoningPhases(parts, options)),
  }
}

/** The four phases, each its own run in the same conversation. */
export const reasoningPhases = (
  { config, lifecycle }: OrchestratorParts,
  options: ReasoningOptions = {},
): PhasedOptions<object, ReasoningState> => {
  const prompts = { ...defaultPrompts, ...options.prompts }
  const thinker = lifecycle({ callsTools: false })
  const researcher = lifecycle()
  const asking = (prompt: string) => (state: PhasedRun) => ({ history: historyOf(state), prompt })
  return {
    id: 'reasoning',
    phases: {
      Analysis: {
        description: 'Understands the question, without tools.',
        run: thinker,
        label: 'analysis',
        input: (state) => firstQuestion(state, prompts.analysis),
        next: 'Hypothesis',
      },
      Hypothesis: {
        description: 'Says what may be true, and what would show it.',
        run: thinker,
        label: 'hypothesis',
        input: asking(prompts.hypothesis),
        next: 'Evidence',
      },
      Evidence: {
        description: 'Looks for evidence with the tools.',
        run: researcher,
        label: 'evidence',
        input: asking(prompts.evidence),
        next: 'Synthesis',
      },
      Synthesis: {
        description: 'Answers from everything above.',
        run: thinker,
        label: 'synthesis',
        input: (state) => ({
          history: historyOf(state),
          ...lastQuestion(prompts.synthesis, state.input, config.model.profile.nativeSchema),
        }),
        isAnswer: true,
        next: 'Complete',
      },
    },
  }
}

/** The question of the last phase. Only it needs the shape of the answer: until then the model thinks in words. */
const lastQuestion = (prompt: string, { outputSchema }: AgentInput, takesSchema: boolean): AgentInput => {
  if (!outputSchema) return { prompt }
  if (takesSchema) return { prompt, outputSchema }
  return { prompt: `${prompt}\n\nAnswer with JSON of this schema alone: ${JSON.stringify(outputSchema)}` }
}
