import { isJsonObject, type JsonObject } from '../../src/messages/json.ts'
import { numberAt, objectAt, stringAt } from '../wire/json.ts'
import type { WireError } from '../wire/protocol.ts'

/** `{ error: 'text' }` from the server itself; proxies and the cloud wrap the text or add a status. */
export const ollamaError = (body: unknown): WireError | undefined => {
  if (!isJsonObject(body)) return undefined
  const nested = objectAt(body, 'error')
  const message =
    stringAt(body, 'error') ??
    stringAt(nested, 'message') ??
    stringAt(body, 'message') ??
    stringAt(body, 'detail')
  // A refusal by the cloud may carry nothing but its status line.
  const text = message || stringAt(body, 'Status')
  if (!text) return nested && { message: JSON.stringify(nested) }
  const code = codeOf(nested) ?? codeOf(body)
  return { message: advised(text), ...(code !== undefined && { code }) }
}

/** Names the cause that is not in the conversation: without a wish, a server loads a model with a short context. */
const advised = (text: string): string =>
  /exceed\w* (?:the|max) context length/i.test(text)
    ? `${text.replace(/\.$/, '')}. Have more of it loaded: profile: { numCtx: 32768 }, or OLLAMA_CONTEXT_LENGTH at the server.`
    : text

const codeOf = (body: JsonObject | undefined): string | undefined => {
  const status =
    numberAt(body, 'StatusCode') ??
    numberAt(body, 'status_code') ??
    numberAt(body, 'code') ??
    numberAt(body, 'status')
  return status !== undefined ? String(status) : (stringAt(body, 'code') ?? stringAt(body, 'type'))
}
