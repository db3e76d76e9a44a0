import type { JsonObject } from '../../src/messages/json.ts'
import type { ModelRequest, Thinking } from '../../src/model/chatModel.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import type { GoogleProfile, ThinkingLevel } from './profile.ts'
import { geminiDialect } from './schemaDialect.ts'

/** Sampling, length, thinking and answer format: everything Gemini keeps under `generationConfig`. */
export const generationConfigOf = (request: ModelRequest, profile: GoogleProfile): JsonObject => ({
  ...(request.temperature !== undefined && { temperature: request.temperature }),
  ...(request.topP !== undefined && { topP: request.topP }),
  ...(request.maxOutputTokens !== undefined && { maxOutputTokens: request.maxOutputTokens }),
  ...(request.stopSequences?.length && { stopSequences: request.stopSequences }),
  ...(request.seed !== undefined && { seed: request.seed }),
  ...(request.outputSchema && {
    responseMimeType: 'application/json',
    responseJsonSchema: toDialect(request.outputSchema, geminiDialect),
  }),
  // Models that cannot think answer any thinkingConfig with an error.
  ...(request.thinking !== undefined &&
    profile.thinking && { thinkingConfig: thinkingConfigOf(request.thinking, profile) }),
})

/** Effort in tokens, as Google's own OpenAI-compatible endpoint translates it. */
const budgets: readonly (readonly [ThinkingLevel, number])[] = [
  ['minimal', 512],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24576],
]

const thinkingConfigOf = (thinking: Thinking, profile: GoogleProfile): JsonObject => {
  const { effort, budgetTokens } = typeof thinking === 'object' ? thinking : {}
  const tokens = thinking === false ? 0 : (budgetTokens ?? budgets.find(([level]) => level === effort)?.[1])
  return profile.thinkingStyle === 'level'
    ? { ...(thinking !== false && { includeThoughts: true }), ...levelConfig(effort, tokens, profile) }
    : budgetConfig(tokens, profile)
}

const budgetConfig = (tokens: number | undefined, profile: GoogleProfile): JsonObject => {
  if (tokens === undefined) return { includeThoughts: true }
  // A negative budget means "as much as the model likes" and is no number to compare.
  const thinkingBudget = tokens < 0 ? -1 : Math.max(tokens, profile.minThinkingBudget ?? 0)
  // Asking for thoughts while thinking is off is an error.
  return { ...(tokens !== 0 && { includeThoughts: true }), thinkingBudget }
}

const levelConfig = (
  effort: ThinkingLevel | undefined,
  tokens: number | undefined,
  profile: GoogleProfile,
): JsonObject => {
  if (tokens === undefined || tokens < 0) return {}
  const wanted = effort ?? budgets.find(([, budget]) => tokens <= budget)?.[0] ?? 'high'
  const supported = profile.thinkingLevels ?? budgets.map(([level]) => level)
  const level = supported.find((candidate) => rank(candidate) >= rank(wanted)) ?? supported.at(-1)
  return level ? { thinkingLevel: level.toUpperCase() } : {}
}

const rank = (level: ThinkingLevel): number => budgets.findIndex(([name]) => name === level)
