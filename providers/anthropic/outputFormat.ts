import type { JsonObject } from '../../src/messages/json.ts'
import { systemMessage } from '../../src/messages/messages.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import type { Recover } from '../http/httpChatModel.ts'
import type { AnthropicProfile } from './profile.ts'
import { answerDialect, answerGrammar } from './schemaDialect.ts'

/** The schema of an answer for `output_config.format`; undefined when the API could not hold a model to it. */
export const outputSchema = (schema: JsonObject): JsonObject | undefined => {
  const sent = toDialect(schema, answerDialect)
  return isEnforceable(sent, answerGrammar) ? sent : undefined
}

/** The instruction for the model instead. */
export const schemaInstruction = (schema: JsonObject): string =>
  `Answer with nothing but JSON that follows this JSON Schema, without a code fence:\n${JSON.stringify(schema)}`

/** The API's message for a schema that is too large for it: it does not document the limit. */
const aboutGrammar =
  /compiled grammar|grammar compilation|too many (optional )?parameters|schema is too complex/i

/** A request again after its schema was refused: with the schema as an instruction. */
export const withoutGrammar: Recover<AnthropicProfile> = (error, request) => {
  const { outputSchema: schema, ...rest } = request
  if (!schema || error.status !== 400 || !aboutGrammar.test(error.message)) return undefined
  return { request: { ...rest, messages: [...rest.messages, systemMessage(schemaInstruction(schema))] } }
}
