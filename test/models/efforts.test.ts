import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyEffort, budgetFor, type EffortWord, effortFor } from '../../providers/models/modelFacts.ts'
import type { Effort, Thinking } from '../../src/model/chatModel.ts'

const efforts = anyEffort.filter((word): word is Effort => word !== 'none')

const wishes: fc.Arbitrary<Thinking> = fc.oneof(
  fc.boolean(),
  fc.record(
    { effort: fc.constantFrom(...efforts), budgetTokens: fc.integer({ min: -1, max: 200_000 }) },
    { requiredKeys: [] },
  ),
)
const subsets = fc.subarray([...anyEffort])

it('a model is never sent a word that it does not take', () => {
  fc.assert(
    fc.property(wishes, subsets, (thinking, takes) => {
      const word = effortFor(thinking, takes)
      if (word !== undefined) expect(takes).toContain(word)
    }),
  )
})

it('a wish for thinking never switches it off, and a wish for none takes the least there is', () => {
  fc.assert(
    fc.property(wishes, subsets, (thinking, takes) => {
      if (thinking === false) expect(effortFor(thinking, takes)).toBe(takes[0])
      else expect(effortFor(thinking, takes)).not.toBe('none')
    }),
  )
})

it('more of a wish is never less of an effort', () => {
  fc.assert(
    fc.property(fc.constantFrom(...efforts), fc.constantFrom(...efforts), subsets, (one, other, takes) => {
      const rank = (effort: Effort) => anyEffort.indexOf(effortFor({ effort }, takes) ?? 'none')
      const [less, more] = [one, other].toSorted((a, b) => anyEffort.indexOf(a) - anyEffort.indexOf(b))
      if (less && more) expect(rank(less)).toBeLessThanOrEqual(rank(more))
    }),
  )
})

const low: EffortWord[] = ['low', 'medium', 'high']

it.each<[Thinking, EffortWord[], EffortWord | undefined]>([
  [false, low, 'low'],
  [false, ['none', ...low], 'none'],
  [{ effort: 'minimal' }, ['none', ...low], 'low'],
  [{ effort: 'max' }, low, 'high'],
  [{ effort: 'xhigh' }, ['low', 'high', 'max'], 'max'],
  [{ effort: 'medium' }, ['low', 'high'], 'high'],
  [{ effort: 'low' }, ['minimal', 'high'], 'minimal'],
  [{ budgetTokens: 5000 }, low, 'medium'],
  [{ budgetTokens: 900_000 }, low, 'high'],
  [{ budgetTokens: -1 }, low, undefined],
  [true, low, undefined],
  [{ effort: 'high' }, ['none'], undefined],
])('%j of %j is %s', (thinking, takes, word) => {
  expect(effortFor(thinking, takes)).toBe(word)
})

it('an effort is worth tokens, and its tokens are worth it', () => {
  for (const effort of efforts)
    expect(effortFor({ budgetTokens: budgetFor({ effort }) ?? 0 }, efforts)).toBe(effort)
})
