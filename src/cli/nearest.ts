/** The name that was probably meant; undefined when none is near. */
export const nearest = (typed: string, names: readonly string[]): string | undefined => {
  const ranked = names
    .map((name) => ({ name, distance: distance(typed.toLowerCase(), name) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(1, Math.floor(best.name.length / 2)) ? best.name : undefined
}

/** Letters to change, add or drop, with a swap of two neighbours as one. */
const distance = (a: string, b: string): number => {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1)
      }
      next.push(best)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
