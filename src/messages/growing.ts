// Data that grows piece by piece and is never changed, as plain JSON. Neighbours are joined like the digits of a binary
// counter, so that each piece is moved only as often as the count has digits: adding one costs next to nothing, however
// many there are.

/** A list in batches, the longest first: `batches.flat()` is the list. */
export type Batches<T> = readonly (readonly T[])[]

/** Appends items to a list in batches. */
export const appended = <T>(batches: Batches<T>, items: readonly T[]): Batches<T> => {
  if (items.length === 0) return batches
  let kept = batches.length
  let last = items
  for (let before = batches[kept - 1]; before && before.length <= last.length; before = batches[kept - 1]) {
    last = [...before, ...last]
    kept -= 1
  }
  return [...batches.slice(0, kept), last]
}

export const countOf = (batches: Batches<unknown>): number =>
  batches.length === 0 ? 0 : batches.reduce((count, batch) => count + batch.length, 0)

/** A value that is merged from pieces: its parts, each with the number of pieces in it. */
export type MergedPieces<T> = readonly { readonly pieces: number; readonly value: T }[]

/** Adds a piece at the end. `join` must give the same in whatever order neighbours are joined. */
export const grown = <T>(
  growing: MergedPieces<T>,
  piece: T,
  join: (older: T, newer: T) => T,
): MergedPieces<T> => {
  let kept = growing.length
  let last = { pieces: 1, value: piece }
  for (let before = growing[kept - 1]; before && before.pieces <= last.pieces; before = growing[kept - 1]) {
    last = { pieces: before.pieces + last.pieces, value: join(before.value, last.value) }
    kept -= 1
  }
  return [...growing.slice(0, kept), last]
}

/** The whole value, joined from the end, where the small parts are; undefined while there is nothing. */
export const wholeOf = <T>(growing: MergedPieces<T>, join: (older: T, newer: T) => T): T | undefined =>
  growing.length === 0
    ? undefined
    : growing.map(({ value }) => value).reduceRight((newer, older) => join(older, newer))
