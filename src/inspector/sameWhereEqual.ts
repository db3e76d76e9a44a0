/** What lies deeper is not compared. */
const deepest = 100

/**
 * The second value, with the parts of the first one wherever they are equal: what was read again is not the same object,
 * and would count as changed.
 */
export const sameWhereEqual = (before: unknown, after: unknown, depth = 0): unknown => {
  if (!isBranch(before) || !isBranch(after) || depth > deepest) return after
  if (Array.isArray(before) !== Array.isArray(after)) return after
  const old = new Map(Object.entries(before))
  const parts = Object.entries(after).map(
    ([key, part]) => [key, sameWhereEqual(old.get(key), part, depth + 1)] as const,
  )
  const isSame =
    parts.length === old.size && parts.every(([key, part]) => old.has(key) && Object.is(old.get(key), part))
  if (isSame) return before
  return Array.isArray(after) ? parts.map(([, part]) => part) : Object.fromEntries(parts)
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null
