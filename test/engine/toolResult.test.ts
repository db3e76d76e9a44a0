/** What the model gets of what a tool gave. */
import { describe, expect, test } from 'vitest'
import { asToolResult, errorResult, toolResultOf, unknownTool } from '../../src/tools/toolResult.ts'

const call = { id: 'a', name: 'look' }
const result = (text: string, more: object = {}) => ({ type: 'toolResult', ...call, result: text, ...more })
const error = (problem: string) => result(JSON.stringify({ error: problem }), { isError: true })

const text = (words: string) => ({ type: 'text', text: words })
const data = { type: 'data', mimeType: 'image/png', data: 'AAAA' }
const link = { type: 'link', url: 'https://example.com' }

describe('a value', () => {
  test.each([
    ['Sunny', result('Sunny')],
    ['', result('')],
    [undefined, result('null')],
    [null, result('null')],
    [false, result('false')],
    [{ sun: true }, result('{"sun":true}')],
    [[], result('[]')],
    [[1, 2], result('[1,2]')],
    [text('Sunny'), result('Sunny')],
    [[text('Sunny'), text('Warm')], result('Sunny\nWarm')],
    [data, result('', { parts: [data] })],
    [[text('A map'), data, text('and a page'), link], result('A map\nand a page', { parts: [data, link] })],
    [[text('A map'), { sun: true }], result(JSON.stringify([text('A map'), { sun: true }]))],
    [[text('A map'), 'and more'], result(JSON.stringify([text('A map'), 'and more']))],
    [{ ...data, data: 1 }, result(JSON.stringify({ ...data, data: 1 }))],
    [
      { type: 'toolCall', ...call, arguments: {} },
      result(JSON.stringify({ type: 'toolCall', ...call, arguments: {} })),
    ],
  ])('%j', (value, expected) => {
    expect(toolResultOf(call, value)).toEqual(expected)
  })

  test('is not shared with the tool', () => {
    const own = { ...data }
    const { parts } = toolResultOf(call, own)
    own.data = 'BBBB'
    expect(parts).toEqual([data])
  })

  test('of which JSON holds nothing is an error of the tool', () => {
    expect(() => toolResultOf(call, { n: 1n })).toThrow(TypeError)
  })
})

describe('a long text', () => {
  test('is whole up to the limit', () => {
    expect(toolResultOf(call, '123456789', 9).result).toBe('123456789')
  })

  test('is cut in the middle beyond it: two thirds of the beginning, one of the end', () => {
    expect(toolResultOf(call, '0123456789', 9).result).toBe(
      '012345\n[… 1 of 10 characters are left out here: ask for less, or for a part …]\n789',
    )
    expect(toolResultOf(call, '0123456789', 4).result).toBe(
      '012\n[… 6 of 10 characters are left out here: ask for less, or for a part …]\n9',
    )
    expect(toolResultOf(call, '0123456789', 0).result).toBe(
      '\n[… 10 of 10 characters are left out here: ask for less, or for a part …]\n',
    )
  })

  test('is not cut inside of a character', () => {
    expect(toolResultOf(call, '012🙂5678', 6).result).toBe(
      '012🙂\n[… 2 of 9 characters are left out here: ask for less, or for a part …]\n78',
    )
    expect(toolResultOf(call, '0123456🙂', 3).result).toBe(
      '01\n[… 7 of 9 characters are left out here: ask for less, or for a part …]\n',
    )
  })

  test('has 64 KB where the tool says nothing', () => {
    expect(toolResultOf(call, 'x'.repeat(64 * 1024)).result).toHaveLength(64 * 1024)
    expect(toolResultOf(call, 'x'.repeat(64 * 1024 + 1)).result).toContain('… 1 of 65537 characters')
  })
})

test('files beyond 32 MB of base64 are refused, all of them together', () => {
  const half = { ...data, data: 'A'.repeat(16 * 1024 * 1024) }
  expect(toolResultOf(call, [half, half, link]).isError).toBeUndefined()
  expect(toolResultOf(call, [half, half, data])).toEqual(
    error('The files of the result have 33554436 characters of base64; at most 33554432 are allowed.'),
  )
})

test('an error has at most 10,000 characters', () => {
  expect(errorResult(call, 'x'.repeat(10_000))).toEqual(error('x'.repeat(10_000)))
  expect(errorResult(call, 'x'.repeat(10_001))).toEqual(error(`${'x'.repeat(10_000)}…`))
})

test('a tool that is not there is named, with those that are', () => {
  expect(unknownTool(call, [])).toEqual(error('There is no tool named "look". No tools are available.'))
  expect(unknownTool(call, ['a', 'b'])).toEqual(
    error('There is no tool named "look". Available tools: a, b.'),
  )
})

describe('what an executor of the user gives', () => {
  const none = error('The tool executor did not return a result for this call.')

  test.each([
    [result('ok'), result('ok')],
    [{ result: 'ok', id: 'z', name: 'other', type: 'text' }, result('ok')],
    [{ result: 'ok', isError: true, parts: [data] }, result('ok', { isError: true, parts: [data] })],
    [{ result: 5 }, none],
    [{ result: 'ok', parts: [text('no')] }, none],
    [{}, none],
    [[], none],
    ['ok', none],
    [undefined, none],
  ])('%j', (given, expected) => {
    expect(asToolResult(call, given)).toEqual(expected)
  })
})
