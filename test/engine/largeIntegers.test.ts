/** Integers that a number cannot hold are refused, so that no tool gets another one. */
import { expect, test } from 'vitest'
import { parseArguments } from '../../src/model/toolArguments.ts'

test.each(['9007199254740993', '-9007199254740993', '12345678901234567890'])('%s is refused', (integer) => {
  const { argumentsError } = parseArguments(`{"id": [{"deep": ${integer}}]}`)
  expect(argumentsError).toContain(`The integer ${integer} is too large`)
})

test.each(['9007199254740992', '9007199254740991', '1e300', '0.12345678901234567890', '"9007199254740993"'])(
  '%s is passed on',
  (value) => {
    const { arguments: args, argumentsError } = parseArguments(`{"id": ${value}}`)
    expect(argumentsError).toBeUndefined()
    expect(args).toEqual({ id: JSON.parse(value) })
  },
)

test('an object that came parsed is refused where an integer was rounded, however deep', () => {
  const { argumentsError } = parseArguments(JSON.parse('{"id": [{"deep": 9007199254740993}]}'))
  expect(argumentsError).toContain('send it as a string')
  for (const id of [9007199254740991, -9007199254740991, 1e300, 0.5])
    expect(parseArguments({ id })).toEqual({ arguments: { id } })
})

test('digits in a text, and quotes in it, are no integers', () => {
  const args = { 'a"9007199254740993': '\\"9007199254740993', b: 1 }
  expect(parseArguments(JSON.stringify(args))).toEqual({ arguments: args })
})
