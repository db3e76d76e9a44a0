import type { Orchestrator } from './orchestrator.ts'
import { createReasoningMachine, type ReasoningPhase } from './reasoningMachine.ts'

/** Options of {@link reasoningOrchestrator}. */
export type ReasoningOptions = {
  /** What the model is asked in each phase, where it shall be asked differently. */
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
    'Now answer the question, as the evidence has it. This is the final answer: it must be understood without the steps before.',
}

/**
 * Answers in four phases: analysis, hypotheses, evidence (the only phase with tools), synthesis. The output is the
 * synthesis; the messages of all phases are in the result, and each chunk has its phase in `metadata.phase`.
 *
 * @example
 * const agent = new Agent('anthropic:claude-sonnet-5', { tools: [search], orchestrator: reasoningOrchestrator() })
 */
export const reasoningOrchestrator = ({ prompts }: ReasoningOptions = {}): Orchestrator => ({
  providerHint: 'reasoning',
  create: ({ config, lifecycle }) =>
    createReasoningMachine({
      prompts: { ...defaultPrompts, ...prompts },
      thinker: lifecycle({ tools: [] }),
      researcher: lifecycle(),
      takesSchema: config.model.profile.nativeSchema,
    }),
})
