import type { ModelProfile, Thinking } from '../../src/model/chatModel.ts'

export type ThinkingLevel = NonNullable<Exclude<Thinking, boolean>['effort']>

/** What differs between the models behind the same Gemini wire. */
export type GoogleProfile = ModelProfile & {
  /** Gemini 3 wants the id of a function call back on the call and its response; Gemini 2 rejects the field. */
  echoesCallIds: boolean
  /** Gemini 3 answers 400 to a function call of the current turn whose step carries no thought signature. */
  demandsSignatures: boolean
  /** Gemini 3 takes images and PDFs inside a function response; Gemini 2 rejects the field, so they follow it. */
  mediaInResults?: boolean
  /**
   * Server tools beside function declarations: Gemini 2 refuses them, Gemini 3 wants them `announced` with
   * `includeServerSideToolInvocations`, a field that Vertex does not know (`silent`).
   */
  mixedTools?: 'announced' | 'silent'
  /** Gemini 2.5 is told thinking tokens, Gemini 3 a level; each rejects the other's field. */
  thinkingStyle: 'budget' | 'level'
  /** The levels the model takes, lowest first: Pro models have no `minimal`, 3 Pro no `medium` either. */
  thinkingLevels?: readonly ThinkingLevel[]
  /** Gemini 2.5 Pro cannot stop thinking: it rejects budgets below 128. */
  minThinkingBudget?: number
}

const abilities: ModelProfile = {
  tools: true,
  parallelTools: true,
  nativeSchema: true,
  schemaWithTools: true,
  thinking: true,
  attachments: { images: true, pdf: true, audio: true, video: true, links: true },
}

/** The profile of a Gemini model by its name. Names without a version (`gemini-flash-latest`) are today's models. */
export const geminiProfile = (model: string): GoogleProfile =>
  /(^|\/)(gemini|learnlm)-[12](\.|-|$)|^tunedModels\//.test(model) ? gemini2(model) : gemini3(model)

const gemini2 = (model: string): GoogleProfile => ({
  ...abilities,
  // Gemini 2 refuses a JSON answer and function declarations in the same request.
  schemaWithTools: false,
  thinking: /gemini-2\.5/.test(model),
  echoesCallIds: false,
  demandsSignatures: false,
  thinkingStyle: 'budget',
  ...(/gemini-2\.5-pro/.test(model) && { minThinkingBudget: 128 }),
})

const gemini3 = (model: string): GoogleProfile => ({
  ...abilities,
  echoesCallIds: true,
  demandsSignatures: true,
  mediaInResults: true,
  mixedTools: 'announced',
  thinkingStyle: 'level',
  thinkingLevels: levelsOf(model),
})

const levelsOf = (model: string): readonly ThinkingLevel[] => {
  if (/gemini-3-pro/.test(model)) return ['low', 'high']
  if (/gemini-3(\.[1-6])?-flash/.test(model)) return ['minimal', 'low', 'medium', 'high']
  return ['low', 'medium', 'high']
}
