import { expect } from 'vitest'
import { ConfigurationError } from '../../src/messages/errors.ts'

/** Makes a call with arguments that the types would refuse, and returns the sentence that it throws or rejects with. */
export const sentenceOf = async (
  call: (...args: never[]) => unknown,
  ...args: unknown[]
): Promise<string> => {
  try {
    await Reflect.apply(call, undefined, args)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError)
    return error instanceof Error ? error.message : ''
  }
  return 'was accepted'
}
