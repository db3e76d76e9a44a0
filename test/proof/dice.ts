/** Random choices that a seed repeats. */
export type Dice = {
  /** From 0 to `count` - 1. */
  below(count: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  /** A seed for other dice. */
  seed(): number
}

export const dice = (seed: number): Dice => {
  let state = seed >>> 0
  // Mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return {
    below,
    chance: (probability) => next() < probability,
    pick<T>(list: readonly T[]): T {
      const at = below(list.length)
      if (at >= list.length) throw new Error('There is nothing to pick from.')
      return list[at] as T
    },
    seed: () => below(2 ** 31),
  }
}
