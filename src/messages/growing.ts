// Data that grows piece by piece and is never changed, as plain JSON. Neighbours are joined like the digits of a binary
// counter, so that each piece is moved only as often as the count has digits: adding one costs next to nothing, however
// many there are.

/** A list in runs, the longest first: `runs.flat()` is the list. */
export type Runs<T> = readonly (readonly T[])[]

/** With these items at the end. */
export const appended = <T>(runs: Runs<T>, items: readonly T[]): Runs<T> => {
  if (items.length === 0) return runs
  let kept = runs.length
  let last = items
  for (let before = runs[kept - 1]; before && before.length <= last.length; before = runs[kept - 1]) {
    last = [...before, ...last]
    kept -= 1
  }
  return [...runs.slice(0, kept), last]
}

export const countOf = (runs: Runs<unknown>): number => runs.reduce((count, run) => count + run.length, 0)

/** A value of another kind, with how many pieces went into each part of it. */
export type Growing<T> = readonly { readonly pieces: number; readonly value: T }[]

/** With one more piece at the end. `join` must not care in which order neighbours are joined. */
export const grown = <T>(growing: Growing<T>, piece: T, join: (older: T, newer: T) => T): Growing<T> => {
  let kept = growing.length
  let last = { pieces: 1, value: piece }
  for (let before = growing[kept - 1]; before && before.pieces <= last.pieces; before = growing[kept - 1]) {
    last = { pieces: before.pieces + last.pieces, value: join(before.value, last.value) }
    kept -= 1
  }
  return [...growing.slice(0, kept), last]
}

/** All of it, joined from the end, where the small parts are; undefined while there is nothing. */
export const wholeOf = <T>(growing: Growing<T>, join: (older: T, newer: T) => T): T | undefined =>
  growing.length === 0
    ? undefined
    : growing.map(({ value }) => value).reduceRight((newer, older) => join(older, newer))
