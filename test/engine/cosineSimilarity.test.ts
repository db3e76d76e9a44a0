import { expect, test } from 'vitest'
import { cosineSimilarity } from '../../src/model/cosineSimilarity.ts'

test.each([
  [[1, 0], [2, 0], 1],
  [[1, 0], [0, 3], 0],
  [[1, 2], [-1, -2], -1],
  [[3, 4], [4, 3], 0.96],
  [[0, 0], [1, 1], 0],
  [[1, 1], [0, 0], 0],
  [[], [], 0],
])('%j and %j are alike by %s', (a, b, alike) => {
  expect(cosineSimilarity(a, b)).toBeCloseTo(alike, 12)
})

test('vectors of different lengths cannot be compared', () => {
  expect(() => cosineSimilarity([1], [1, 2])).toThrow(new RangeError('The vectors have 1 and 2 dimensions.'))
})
