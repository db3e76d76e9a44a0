import type { JsonObject } from '../../src/messages/json.ts'
import type { Thinking } from '../../src/model/chatModel.ts'
import type { EffortWord } from '../models/modelFacts.ts'
import { budgetFor, effortFor } from '../models/thinking.ts'
import type { GoogleProfile } from './profile.ts'

/** Gemini 2.5 takes thinking tokens, Gemini 3 a level; each rejects the other's field. */
export const thinkingConfigOf = (thinking: Thinking, { budget, efforts }: GoogleProfile): JsonObject =>
  budget ? budgetConfig(budgetFor(thinking), budget) : levelConfig(thinking, efforts)

const levels: readonly EffortWord[] = ['minimal', 'low', 'medium', 'high']

const levelConfig = (thinking: Thinking, efforts: readonly EffortWord[] = levels): JsonObject => {
  const level = effortFor(thinking, efforts)
  return {
    ...(thinking !== false && { includeThoughts: true }),
    ...(level !== undefined && { thinkingLevel: level.toUpperCase() }),
  }
}

const budgetConfig = (
  tokens: number | undefined,
  { min, max, canStop }: NonNullable<GoogleProfile['budget']>,
): JsonObject => {
  if (tokens === undefined) return { includeThoughts: true }
  // A negative budget means "as much as the model likes" and cannot be compared.
  if (tokens < 0) return { includeThoughts: true, thinkingBudget: -1 }
  // Asking for thoughts while thinking is off is an error.
  if (tokens === 0 && canStop) return { thinkingBudget: 0 }
  return {
    ...(tokens !== 0 && { includeThoughts: true }),
    thinkingBudget: Math.min(Math.max(tokens, min), max),
  }
}
