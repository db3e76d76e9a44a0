import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { valueAt, withValueAt } from '../wire/settings.ts'

// Strict schemas, for servers that take no others. They require every property, so a schema with optional ones is sent as
// it is for as long as a server takes it.

const aboutStrict =
  /requires? (?:the )?['"`]?(?:\S{0,40}\.)?strict\b|\bstrict\b['"`]?.{0,40}(?:must be|to be|=|:|set to|only|required).{0,20}\b(?:true|required)\b|only strict\b|\bstrict\b['"`]? is required/i

/** Says whether these words ask for strict schemas, and the body has others. */
export const wantsStrict = (text: string, { body }: { body: JsonObject }): boolean =>
  aboutStrict.test(text) && JSON.stringify(strictBody(body)) !== JSON.stringify(body)

/** A body whose tools and answer have strict schemas; the same where they have them already. */
export const strictBody = (body: JsonObject): JsonObject => {
  const { tools } = body
  const withTools = Array.isArray(tools) ? { ...body, tools: tools.map(strictTool) } : body
  return formats.reduce((next, path) => {
    const format = valueAt(next, path)
    return isJsonObject(format) ? withValueAt(next, path, strictly(format, 'schema')) : next
  }, withTools)
}

/** The places of an answer's schema: chat completions, and the Responses API. */
const formats = ['response_format.json_schema', 'text.format']

const strictTool = (tool: JsonValue): JsonValue => {
  if (!isJsonObject(tool) || tool.type !== 'function') return tool
  const { function: called } = tool
  return isJsonObject(called)
    ? { ...tool, function: strictly(called, 'parameters') }
    : strictly(tool, 'parameters')
}

const strictly = (described: JsonObject, field: 'parameters' | 'schema'): JsonObject =>
  described.strict === true || !isJsonObject(described[field])
    ? described
    : { ...described, [field]: closed(described[field]), strict: true }

/** A schema whose objects have all of their properties, and no others. */
const closed = (schema: JsonValue): JsonValue => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (!isJsonObject(schema)) return schema
  const { properties, items, anyOf, $defs, ...rest } = schema
  const isClosing = isJsonObject(properties) || schema.type === 'object'
  return {
    ...rest,
    ...(isClosing && {
      properties: closedEach(properties),
      required: Object.keys(Object(properties)),
      additionalProperties: false,
    }),
    ...(items !== undefined && { items: closed(items) }),
    ...(anyOf !== undefined && { anyOf: closed(anyOf) }),
    ...($defs !== undefined && { $defs: closedEach($defs) }),
  }
}

const closedEach = (schemas: JsonValue = {}): JsonObject =>
  isJsonObject(schemas)
    ? Object.fromEntries(Object.entries(schemas).map(([name, each]) => [name, closed(each)]))
    : {}
