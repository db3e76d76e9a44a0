import { isJsonObject } from '../../src/messages/json.ts'
import { objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/** `{ message }` of AWS, in either spelling, with the name of the exception where a frame or a gateway gives it. */
export const converseError = (body: unknown): WireError | undefined => {
  if (!isJsonObject(body)) return undefined
  const error = objectAt(body, 'error') ?? body
  const message =
    stringAt(error, 'message') || stringAt(error, 'Message') || stringAt(error, 'originalMessage')
  if (!message) return undefined
  // `com.amazon.coral.service#ThrottlingException`
  const code = stringAt(error, 'exception') ?? stringAt(error, '__type')?.split('#').at(-1)
  const type = stringAt(error, 'type')
  return { message, ...(code && { code }), ...(type && { type }) }
}
