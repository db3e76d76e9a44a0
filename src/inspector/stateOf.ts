import type { AnyMachineSnapshot, Snapshot } from 'xstate'

/** The innermost active states: `Accumulating.Streaming`, those of parallel states side by side. */
export const stateOf = (snapshot: Snapshot<unknown> | null): string => {
  const { value } = (snapshot ?? {}) as { value?: unknown }
  return leavesOf(value).join(', ')
}

/** The same, one by one. */
export const leavesOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const leaves = leavesOf(inner)
    return leaves.length === 0 ? [key] : leaves.map((leaf) => `${key}.${leaf}`)
  })
}

/** Ids of the active states, as a chart knows them. */
export const stateIdsOf = (snapshot: Snapshot<unknown>): string[] =>
  ((snapshot as Partial<AnyMachineSnapshot>)._nodes ?? []).map(({ id }) => id)
