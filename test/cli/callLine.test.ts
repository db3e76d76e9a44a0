/** The question of the terminal shows different calls differently. */
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

test('a limit of a hostile file is shown without escape sequences', () => {
  const sequence = String.fromCharCode(27)
  const args = { limit: `${sequence}[2J`, value: `${sequence}[2J`, used: `${sequence}]0;x` }
  const shown = pendingLine({ type: 'toolCall', id: 'limit', name: 'limit', arguments: args, kind: 'limit' })
  expect(shown).not.toContain(sequence)
})
