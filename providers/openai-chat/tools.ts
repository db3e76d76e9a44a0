import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { isEnforceable } from '../../src/schema/enforceable.ts'
import { toDialect } from '../../src/schema/toDialect.ts'
import { compatibleDialect, openaiDialect, openaiStrict } from './schemaDialect.ts'

/** The tool settings of a request. `required` is the word for "call some tool". */
export const toolSettings = (
  request: ModelRequest,
  options: { strictSchemas: boolean; required: string; refusesParallel: boolean; serverTools: JsonObject[] },
): JsonObject => {
  const { tools = [], toolChoice, parallelToolCalls } = request
  if (tools.length + options.serverTools.length === 0) return {}
  return {
    tools: [...tools.map((tool) => functionTool(tool, options.strictSchemas)), ...options.serverTools],
    ...(toolChoice !== undefined && { tool_choice: wireToolChoice(toolChoice, options.required) }),
    ...(parallelToolCalls !== undefined &&
      !options.refusesParallel && { parallel_tool_calls: parallelToolCalls }),
  }
}

const functionTool = ({ name, description, inputSchema }: ToolSpec, strictSchemas: boolean): JsonObject => {
  const { schema: parameters, ...strict } = wireSchema(inputSchema, strictSchemas)
  return {
    type: 'function',
    function: { name, ...(description !== '' && { description }), parameters, ...strict },
  }
}

const wireSchema = (schema: JsonObject, strictSchemas: boolean): { schema: JsonObject; strict?: true } => {
  if (!strictSchemas) return { schema: toDialect(schema, compatibleDialect) }
  const sent = toDialect(schema, openaiDialect)
  return { schema: sent, ...(isEnforceable(sent, openaiStrict) && { strict: true }) }
}

const wireToolChoice = (choice: ToolChoice, required: string): JsonValue => {
  if (typeof choice === 'object') return { type: 'function', function: { name: choice.tool } }
  return choice === 'required' ? required : choice
}

/** The whole answer as JSON after a schema. */
export const responseFormat = (schema: JsonObject | undefined, strictSchemas: boolean): JsonObject => {
  if (!schema) return {}
  const format = { name: 'output', ...wireSchema(schema, strictSchemas) }
  return { response_format: { type: 'json_schema', json_schema: format } }
}
