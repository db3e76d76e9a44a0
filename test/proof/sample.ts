import { dice } from './dice.ts'

/** `npm run proof` takes everything that is long; `npm test` takes a part of it, which `PROOF_SEED` chooses. */
export const isWhole = process.env.PROOF !== undefined
export const proofSeed = Number(process.env.PROOF_SEED ?? 1)

/** A part of a list, never empty, in its order; the whole list in `npm run proof`. */
export const sampled = <T>(list: readonly T[], share: number): T[] => {
  if (isWhole) return [...list]
  const { chance } = dice(proofSeed + list.length)
  const some = list.filter(() => chance(share))
  return some.length > 0 ? some : list.slice(0, 1)
}
