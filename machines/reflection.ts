import { ConfigurationError } from '../src/messages/errors.ts'
import type { Orchestrator } from './orchestrator.ts'
import { createReflectionMachine, type ReflectionParts } from './reflectionMachine.ts'

/** Options of {@link reflectionOrchestrator}. */
export type ReflectionOptions = {
  /** Revisions at most. Default 2. */
  maxRounds?: number
  /** Whether a critique finds nothing more to improve. Default: it begins with "APPROVED", as its prompt asks. */
  isContent?: (critique: string) => boolean
  /** What the model is asked after its draft, where it shall be asked differently. */
  prompts?: Partial<ReflectionParts['prompts']>
}

const defaultPrompts: ReflectionParts['prompts'] = {
  critique:
    'Judge your answer as a strict reader would: is it right, complete, clear, and what was asked for? If nothing has to be changed, begin with the word APPROVED. Otherwise list what has to be changed, and do not write the new answer yet.',
  revision:
    'Now write the answer anew, with these changes made. Give the whole answer and nothing else: no remark about the changes.',
}

const isApproved = (critique: string): boolean => critique.trimStart().startsWith('APPROVED')

/**
 * Writes a draft, has it judged, and writes it anew: until the judgement is good, `maxRounds` times at most. The output
 * is the last version; drafts and judgements are in the messages, and each chunk has its phase in `metadata.phase`.
 *
 * @example
 * const agent = new Agent('openai:gpt-5-mini', { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) })
 */
export const reflectionOrchestrator = (options: ReflectionOptions = {}): Orchestrator => {
  const { maxRounds = 2, isContent = isApproved, prompts } = options
  if (!Number.isInteger(maxRounds) || maxRounds < 1) {
    throw new ConfigurationError(`maxRounds must be a whole number from 1 on, not ${maxRounds}.`)
  }
  return {
    providerHint: 'reflection',
    create: ({ lifecycle }) =>
      createReflectionMachine({
        prompts: { ...defaultPrompts, ...prompts },
        maxRounds,
        isContent,
        author: lifecycle(),
        critic: lifecycle({ tools: [] }),
      }),
  }
}
