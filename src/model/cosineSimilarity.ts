/**
 * The likeness of two embeddings: 1 for the same direction, 0 for none in common, -1 for opposite.
 *
 * @example cosineSimilarity([1, 0], [1, 1]) // 0.707…
 */
export const cosineSimilarity = (a: readonly number[], b: readonly number[]): number => {
  if (a.length !== b.length) throw new RangeError(`The vectors have ${a.length} and ${b.length} dimensions.`)
  let dot = 0
  let squareA = 0
  let squareB = 0
  for (let i = 0; i < a.length; i += 1) {
    const x = a[i] ?? 0
    const y = b[i] ?? 0
    dot += x * y
    squareA += x * x
    squareB += y * y
  }
  return squareA === 0 || squareB === 0 ? 0 : dot / Math.sqrt(squareA * squareB)
}
