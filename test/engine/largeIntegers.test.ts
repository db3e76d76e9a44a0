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

test('digits in a text, and quotes in it, are no integers', () => {
  const args = { 'a"9007199254740993': '\\"9007199254740993', b: 1 }
  expect(parseArguments(JSON.stringify(args))).toEqual({ arguments: args })
})
