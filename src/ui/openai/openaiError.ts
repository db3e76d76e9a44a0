import type { JsonObject } from '../../messages/json.ts'
import type { Refusal } from '../Refusal.ts'

/** An error as clients of OpenAI read it. */
export const errorOf = ({ status, message, code }: Refusal): JsonObject => ({
  error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code },
})
