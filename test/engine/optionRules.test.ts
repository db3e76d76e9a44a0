/** What is said of an option that is not what it must be. Texts are never repeated: one of them may be a key. */
import { expect, test } from 'vitest'
import { amount, finiteAmount, flag, object, oneOf, text, wholeFrom } from '../../src/messages/optionRules.ts'

test.each([
  [null, 'null'],
  [undefined, 'undefined'],
  [1.5, '1.5'],
  [Number.NaN, 'NaN'],
  [[1], 'a list'],
  [{}, 'an object'],
  ['sk-secret', 'a string'],
  [() => 1, 'a function'],
  [Symbol('s'), 'a symbol'],
])('%s is described as %s', (value, words) => {
  expect(flag('isOn', value)).toBe(`isOn must be true or false, not ${words}.`)
})

test.each([
  [text, 'a', 1],
  [flag, false, 0],
  [object, {}, []],
  [object, { a: 1 }, null],
  [wholeFrom(2), 2, 1],
  [wholeFrom(2), 3, 2.5],
  [wholeFrom(0), 0, '0'],
  [amount, 0, -1],
  [amount, Number.POSITIVE_INFINITY, Number.NaN],
  [finiteAmount, 0, -0.5],
  [finiteAmount, 0.5, Number.POSITIVE_INFINITY],
])('rule %# takes %s and refuses %s', (rule, good, bad) => {
  expect(rule('it', good)).toBeUndefined()
  expect(rule('it', bad)).toMatch(/^it must be /)
})

test('a word that is none of several is shown, shortened, and nothing else is', () => {
  const rule = oneOf('full', 'normal', 'off')
  expect(rule('mode', 'normal')).toBeUndefined()
  expect(rule('mode', 'none')).toBe(`mode must be 'full', 'normal' or 'off', not "none".`)
  expect(rule('mode', 'x'.repeat(41))).toBe(
    `mode must be 'full', 'normal' or 'off', not "${'x'.repeat(40)}".`,
  )
  expect(rule('mode', ['full'])).toBe(`mode must be 'full', 'normal' or 'off', not a list.`)
})
