import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../../src/model/chatModel.ts'
import { isStrictSchema } from './strictSchema.ts'

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
  // A tool without arguments still needs an object with a list of properties.
  const parameters: JsonObject = { type: 'object', properties: {}, ...inputSchema }
  return {
    type: 'function',
    function: {
      name,
      ...(description !== '' && { description }),
      parameters,
      ...(strictSchemas && isStrictSchema(parameters) && { strict: true }),
    },
  }
}

const wireToolChoice = (choice: ToolChoice, required: string): JsonValue => {
  if (typeof choice === 'object') return { type: 'function', function: { name: choice.tool } }
  return choice === 'required' ? required : choice
}

/** The whole answer as JSON after a schema. */
export const responseFormat = (schema: JsonObject | undefined, strictSchemas: boolean): JsonObject => {
  if (!schema) return {}
  const isStrict = strictSchemas && isStrictSchema(schema)
  const format = { name: 'output', schema, ...(isStrict && { strict: true }) }
  return { response_format: { type: 'json_schema', json_schema: format } }
}
