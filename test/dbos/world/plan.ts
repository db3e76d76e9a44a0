/** The texts and calls of a scripted model, turn by turn. The prompt of a run is its plan. */
export type Plan = { id: string; turns: PlannedTurn[] }

export type PlannedCall = {
  name: string
  input: { seconds?: number; what?: string; ms?: number; until?: string; prompt?: string }
}

export type PlannedTurn = { text: string } | { calls: PlannedCall[] }

/** Writes a plan as one word: it may be part of a call in another one. */
export const promptOf = (plan: Plan): string =>
  `PLAN:${Buffer.from(JSON.stringify(plan)).toString('base64url')}`

export const planIn = (text: string): Plan | undefined => {
  const [, word] = /PLAN:([\w-]+)/.exec(text) ?? []
  return word === undefined ? undefined : JSON.parse(Buffer.from(word, 'base64url').toString())
}
