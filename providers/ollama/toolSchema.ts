import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'

/**
 * A tool's input schema in the dialect Ollama shows to models. Its server knows `type`, `items`, `description`,
 * `enum`, `anyOf` and `properties` of a property, drops the rest unseen and refuses a schema that is no object.
 */
export const toolSchema = (schema: JsonObject): JsonObject => {
  const plain = simplified(schema, { root: schema, open: [] })
  return { ...plain, type: 'object', properties: isJsonObject(plain.properties) ? plain.properties : {} }
}

/** `open` are the references being resolved around this place: one of them again would never end. */
type Scope = { root: JsonObject; open: readonly string[] }

const simplified = (schema: JsonValue, scope: Scope): JsonObject => {
  if (!isJsonObject(schema)) return {}
  const { $ref, $defs: _, definitions: __, $schema: ___, allOf, oneOf, const: only, ...rest } = schema
  const choices = Array.isArray(oneOf) ? oneOf : rest.anyOf
  const plain: JsonObject = {
    ...rest,
    ...(only !== undefined && { enum: [only] }),
    ...(Array.isArray(choices) && { anyOf: choices.map((choice) => simplified(choice, scope)) }),
    ...(isJsonObject(rest.items) && { items: simplified(rest.items, scope) }),
    ...(isJsonObject(rest.properties) && { properties: simplifiedMap(rest.properties, scope) }),
  }
  const bases = Array.isArray(allOf) ? allOf.map((base) => simplified(base, scope)) : []
  if (typeof $ref === 'string') bases.unshift(resolved($ref, scope))
  return [...bases, plain].reduce(merged)
}

const simplifiedMap = (schemas: JsonObject, scope: Scope): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, simplified(schema, scope)]))

const merged = (base: JsonObject, more: JsonObject): JsonObject => ({
  ...base,
  ...more,
  ...(isJsonObject(base.properties) &&
    isJsonObject(more.properties) && { properties: { ...base.properties, ...more.properties } }),
  ...(Array.isArray(base.required) &&
    Array.isArray(more.required) && { required: [...base.required, ...more.required] }),
})

/** What a pointer such as `#/$defs/address` means; an object of any kind where it is unknown or leads back to itself. */
const resolved = (pointer: string, { root, open }: Scope): JsonObject => {
  let place: JsonValue | undefined = pointer.startsWith('#/') && !open.includes(pointer) ? root : undefined
  for (const step of pointer.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    place = isJsonObject(place) ? ownValue(place, key) : undefined
  }
  return isJsonObject(place) ? simplified(place, { root, open: [...open, pointer] }) : { type: 'object' }
}
