import { ConfigurationError } from '../../src/messages/errors.ts'
import { callable, checkOptions, fields, type Rules, text } from '../../src/messages/optionRules.ts'
import type { AgentInput, AgentOutput } from '../agent/events.ts'
import type { Orchestrator, OrchestratorParts } from './orchestrator.ts'
import { createPhasedMachine, type PhasedMachine, type PhasedOptions } from './phasedMachine.ts'
import { historyOf } from './phasedRun.ts'

/** The phases of `reflectionOrchestrator`. */
export type ReflectionPhase = 'draft' | 'critique' | 'revision'

/** The states of its chart. */
type ReflectionState = 'Draft' | 'Critique' | 'Revise'

/** Options of {@link reflectionOrchestrator}. */
export type ReflectionOptions = {
  /** The most revisions. Default: 2. */
  maxRounds?: number
  /**
   * Says whether a critique finds nothing more to improve. Default: it begins with "APPROVED", as its prompt asks.
   */
  isContent?: (critique: string) => boolean
  /** Your own prompts for the phases after the draft. Default: prompts for both. */
  prompts?: Partial<Record<Exclude<ReflectionPhase, 'draft'>, string>>
}

const defaultPrompts = {
  critique:
    'Judge your answer as a strict reader would: is it right, complete, clear, and what was asked for? If nothing needs to change, begin with the word APPROVED. Otherwise list what needs to change, and do not write the new answer yet.',
  revision:
    'Now write the answer again, with these changes made. Give the whole answer and nothing else: no remark about the changes.',
}

const isApproved = (critique: string): boolean => critique.trimStart().startsWith('APPROVED')

const rules: Rules<ReflectionOptions> = {
  // Checked below, with an error that says more.
  maxRounds: () => undefined,
  isContent: callable,
  prompts: fields({ critique: text, revision: text }),
}

/**
 * Writes a draft, judges it, and revises it until the judgement is good, at most `maxRounds` times. The output is the
 * last version; drafts and judgements are in the messages, and each chunk has its phase in `metadata.phase`.
 *
 * @example
 * const agent = new Agent('openai:gpt-6-luna', { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) })
 */
export const reflectionOrchestrator = (
  options: ReflectionOptions = {},
): Orchestrator<PhasedMachine<ReflectionState, { round: number }>> => {
  checkOptions('The options of reflectionOrchestrator', options, rules)
  const { maxRounds = 2 } = options
  if (!Number.isInteger(maxRounds) || maxRounds < 1) {
    throw new ConfigurationError(`maxRounds must be a whole number of at least 1, not ${maxRounds}.`)
  }
  return {
    providerHint: 'reflection',
    create: (parts) => createPhasedMachine(reflectionPhases(parts, options)),
  }
}

/** A draft, then critiques and revisions in turn. */
export const reflectionPhases = (
  { lifecycle }: OrchestratorParts,
  { maxRounds = 2, isContent = isApproved, prompts }: ReflectionOptions = {},
): PhasedOptions<{ round: number }, ReflectionState> => {
  const { critique, revision } = { ...defaultPrompts, ...prompts }
  const author = lifecycle()
  const critic = lifecycle({ callsTools: false })
  return {
    id: 'reflection',
    // Revisions so far.
    data: { round: 0 },
    phases: {
      Draft: {
        description: 'Answers as if there were no second look.',
        run: author,
        label: 'draft',
        input: ({ input }) => input,
        isAnswer: true,
        next: 'Critique',
      },
      Critique: {
        description: 'Reads the last version as a critic, without tools.',
        run: critic,
        label: 'critique',
        input: (state) => ({ history: historyOf(state), prompt: critique }),
        next: [{ when: 'isContent', to: 'Complete' }, { to: 'Revise' }],
      },
      Revise: {
        description: 'Answers again, with the criticism in view.',
        run: author,
        label: 'revision',
        input: (state) => ({ ...shapeOf(state.input), history: historyOf(state), prompt: revision }),
        isAnswer: true,
        next: [
          { when: 'mayReviseAgain', to: 'Critique', take: 'countRound' },
          { to: 'Complete', take: 'countRound' },
        ],
      },
    },
    guards: {
      isContent: (_, { output }: AgentOutput) => isContent(output),
      mayReviseAgain: ({ round }) => round + 1 < maxRounds,
    },
    takes: {
      countRound: ({ round }) => ({ change: { round: round + 1 } }),
    },
  }
}

/** A revision has the shape that was asked of the draft. */
const shapeOf = ({ outputSchema }: AgentInput): AgentInput => (outputSchema ? { outputSchema } : {})
