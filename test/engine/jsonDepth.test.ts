import { describe, expect, test } from 'vitest'
import { PartialJson } from '../../src/agent/PartialJson.ts'
import { deepestJson, isTooDeep } from '../../src/messages/jsonDepth.ts'
import { parseArguments } from '../../src/model/toolArguments.ts'

const nested = (levels: number, open = '[', close = ']', inner = ''): string =>
  open.repeat(levels) + inner + close.repeat(levels)

describe('a JSON text is too deep', () => {
  test.each([
    ['arrays', nested(deepestJson), nested(deepestJson + 1)],
    ['objects', nested(deepestJson, '{"a":', '}', '1'), nested(deepestJson + 1, '{"a":', '}', '1')],
  ])('one level beyond the limit: %s', (_, fine, deep) => {
    expect([isTooDeep(fine), isTooDeep(deep)]).toEqual([false, true])
  })

  test('only by its nesting, never by its length', () => {
    expect(isTooDeep(`[${'[],'.repeat(10_000)}1]`)).toBe(false)
  })

  test('not by brackets in its strings, whatever is escaped in them', () => {
    const brackets = '['.repeat(5000)
    for (const text of [brackets, `\\\\${brackets}`, `"${brackets}`, `\\"${brackets}\\`, `${brackets}\\\\`])
      expect(isTooDeep(JSON.stringify({ text, more: 1 }))).toBe(false)
    expect(isTooDeep(`["\\\\",${nested(deepestJson)}]`)).toBe(true)
    expect(isTooDeep(`{"cut":"${brackets}`)).toBe(false)
  })
})

test('arguments that are too deep are refused, with a reason', () => {
  const raw = `{"a":${nested(100_000)}}`
  expect(parseArguments(raw)).toEqual({
    arguments: {},
    argumentsRaw: raw,
    argumentsError: expect.stringContaining('nests deeper than'),
  })
})

test('a growing value leaves out what is too deep', () => {
  const json = new PartialJson()
  json.push(`{"a":1,"b":${'['.repeat(100_000)}`)
  expect(() => JSON.stringify(json.value)).not.toThrow()
  expect(json.value).toMatchObject({ a: 1 })
})
