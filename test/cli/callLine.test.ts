/** The question of the terminal shows different calls differently. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callLine, pendingLine } from '../../src/cli/progress.ts'
import type { JsonObject } from '../../src/messages/json.ts'

const line = (args: JsonObject) => callLine({ type: 'toolCall', id: 'c1', name: 'erase', arguments: args })

test('plain texts are shown as they are, and others in quotes', () => {
  expect(line({ expression: '2 + 3' })).toBe('erase(expression: 2 + 3)')
  expect(line({ path: '/', dry_run: true })).toBe('erase(path: /, dry_run: true)')
  expect(line({ path: '/, dry_run: true' })).toBe('erase(path: "/, dry_run: true")')
})

test('no two calls look the same', () => {
  const calls: JsonObject[] = [
    { a: true },
    { a: 'true' },
    { a: 1 },
    { a: '1' },
    { a: null },
    { a: 'null' },
    { a: '' },
    { a: ' ' },
    { a: '"x"' },
    { a: 'x' },
    { a: 'x)' },
    { a: 'x', b: 'y' },
    { a: 'x, b: y' },
    { 'a: x, b': 'y' },
    { a: ['x'] },
    { a: '["x"]' },
    { a: 'x\ny' },
    { a: 'x y' },
    { a: 'x  y' },
  ]
  expect(new Set(calls.map(line)).size).toBe(calls.length)
})

test('no two calls look the same, whatever a model writes, and nothing of them is invisible', () => {
  const odd = fc.constantFrom(
    ...' \t\n\u0007\u001b\u009b\u00a0\u00ad\u2003\u200b\u2028\u202e\u2066\u3164\ufe0f\ufeff"\\,:()[]{}\'x1',
  )
  const text = fc.array(odd, { maxLength: 6 }).map((signs) => signs.join(''))
  const value = fc.oneof(
    text,
    fc.boolean(),
    fc.integer(),
    fc.constant(null),
    fc.array(text, { maxLength: 2 }),
  )
  const args = fc.dictionary(text, value, { maxKeys: 3 })
  const seen = new Map<string, string>()
  fc.assert(
    fc.property(args, (given) => {
      const [shown, meant] = [line(given), JSON.stringify(given)]
      const before = seen.get(shown) ?? meant
      seen.set(shown, meant)
      return before === meant && !/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(shown)
    }),
    { numRuns: 5000, seed: 1 },
  )
})

test('a limit of a hostile file is shown without escape sequences', () => {
  const sequence = String.fromCharCode(27)
  const args = { limit: `${sequence}[2J`, value: `${sequence}[2J`, used: `${sequence}]0;x` }
  const shown = pendingLine({ type: 'toolCall', id: 'limit', name: 'limit', arguments: args, kind: 'limit' })
  expect(shown).not.toContain(sequence)
})
