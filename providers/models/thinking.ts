import type { Thinking } from '../../src/model/chatModel.ts'
import type { EffortWord } from './modelFacts.ts'

/** What each effort is worth in tokens, where a model counts them. The first four are Google's own translation. */
const budgets: readonly (readonly [EffortWord, number])[] = [
  ['none', 0],
  ['minimal', 512],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 65_536],
]

/** Every word there is, for models of which nothing is known: it is sent as it was said. */
export const anyEffort: readonly EffortWord[] = budgets.map(([word]) => word)

const rankOf = (word: EffortWord): number => budgets.findIndex(([each]) => each === word)

/** `true`, for an API that has no word for it. */
export const someThinking = (thinking: Thinking): Thinking =>
  thinking === true ? { effort: 'medium' } : thinking

/**
 * The word for what was wished, of those that the model takes: the nearest one, the higher of two. Undefined where the
 * wish names no amount, or where the model can only be told to stop.
 */
export const effortFor = (thinking: Thinking, takes: readonly EffortWord[]): EffortWord | undefined => {
  if (thinking === false) return takes[0]
  const wanted = wishedEffort(thinking)
  if (wanted === undefined) return undefined
  // A request for little thinking is not a request for none.
  return nearest(
    wanted,
    takes.filter((word) => word !== 'none'),
  )
}

/** The tokens that were wished: as a number, or as what an effort is worth. 0 switches thinking off. */
export const budgetFor = (thinking: Thinking): number | undefined => {
  if (typeof thinking === 'boolean') return thinking ? undefined : 0
  return thinking.budgetTokens ?? budgets.find(([word]) => word === thinking.effort)?.[1]
}

const wishedEffort = (thinking: Exclude<Thinking, false>): EffortWord | undefined => {
  if (thinking === true) return undefined
  const { effort, budgetTokens } = thinking
  // A negative budget is Google's word for "as much as you like".
  if (effort !== undefined || budgetTokens === undefined || budgetTokens < 0) return effort
  return budgets.find(([word, tokens]) => word !== 'none' && budgetTokens <= tokens)?.[0] ?? 'max'
}

const nearest = (wanted: EffortWord, takes: readonly EffortWord[]): EffortWord | undefined => {
  const distance = (word: EffortWord) => Math.abs(rankOf(word) - rankOf(wanted))
  return takes.toSorted((a, b) => distance(a) - distance(b) || rankOf(b) - rankOf(a))[0]
}
