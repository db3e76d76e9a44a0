import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'
import { valueAt, withValueAt } from '../wire/settings.ts'

// Strict schemas, for servers that take no others, and for those that take none. They require every property, so a schema
// with optional ones is sent as it is for as long as a server takes it.

const againstStrict =
  /\bstrict\b.{0,60}(?:not (?:a valid|supported|permitted|allowed|available)|unsupported|only (?:available|supported)|extra (?:inputs|fields))|(?:unknown|unsupported|unrecognized|unexpected|extra(?:neous)?|n't support|not support)\b.{0,60}\bstrict\b/i

/** Says whether these words refuse `strict`, and the body has it. */
export const refusesStrict = (text: string, { body }: { body: JsonObject }): boolean =>
  againstStrict.test(text) && JSON.stringify(looseBody(body)) !== JSON.stringify(body)

const aboutStrict =
  /requires? (?:the )?['"`]?(?:\S{0,40}\.)?strict\b|\bstrict\b['"`]?.{0,40}(?:must be|to be|=|:|set to|only|required).{0,20}\b(?:true|required)\b|only strict\b|\bstrict\b['"`]? is required/i

/** Says whether these words ask for strict schemas, and the body has others. */
export const wantsStrict = (text: string, { body }: { body: JsonObject }): boolean =>
  aboutStrict.test(text) && JSON.stringify(strictBody(body)) !== JSON.stringify(body)

/** A body whose tools and answer have strict schemas; the same where they have them already. */
export const strictBody = (body: JsonObject): JsonObject => describedBy(body, strictly)

/** A body whose tools and answer do not say `strict`; the same where none of them does. */
export const looseBody = (body: JsonObject): JsonObject =>
  describedBy(body, ({ strict: _, ...described }) => described)

type Describe = (described: JsonObject, field: 'parameters' | 'schema') => JsonObject

const describedBy = (body: JsonObject, describe: Describe): JsonObject => {
  const { tools } = body
  const withTools = Array.isArray(tools)
    ? { ...body, tools: tools.map((tool) => describedTool(tool, describe)) }
    : body
  return formats.reduce((next, path) => {
    const format = valueAt(next, path)
    return isJsonObject(format) ? withValueAt(next, path, describe(format, 'schema')) : next
  }, withTools)
}

/** The places of an answer's schema: chat completions, and the Responses API. */
const formats = ['response_format.json_schema', 'text.format']

const describedTool = (tool: JsonValue, describe: Describe): JsonValue => {
  if (!isJsonObject(tool) || tool.type !== 'function') return tool
  const { function: called } = tool
  return isJsonObject(called)
    ? { ...tool, function: describe(called, 'parameters') }
    : describe(tool, 'parameters')
}

const strictly: Describe = (described, field) =>
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
