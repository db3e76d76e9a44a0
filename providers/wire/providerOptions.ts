import { isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/messages/json.ts'

/** Lists that are added to: a second one instead of the first would take away the agent's own tools. */
const addedTo: ReadonlySet<string> = new Set(['tools', 'include'])

/**
 * A request body with the user's `providerOptions` in it. Objects are merged at every depth, so that one more field of
 * `output_config`, `text` or `generationConfig` leaves its neighbours alone; everything else is the user's.
 */
export const withProviderOptions = (body: JsonObject, options: JsonObject | undefined): JsonObject =>
  options ? merged(body, options) : body

const merged = (base: JsonObject, more: JsonObject): JsonObject => ({
  ...base,
  // Not assigned one by one: a key named `__proto__` would change the object instead of being in it.
  ...Object.fromEntries(
    Object.entries(more).map(([key, value]) => [key, mergedValue(ownValue(base, key), value, key)]),
  ),
})

const mergedValue = (base: JsonValue | undefined, more: JsonValue, key: string): JsonValue => {
  if (Array.isArray(base) && Array.isArray(more) && addedTo.has(key)) return [...base, ...more]
  return isJsonObject(base) && isJsonObject(more) && isSameKind(base, more) ? merged(base, more) : more
}

/** `{ type: 'disabled' }` does not extend `{ type: 'enabled', budget_tokens: 1024 }`, it replaces it. */
const isSameKind = (base: JsonObject, more: JsonObject): boolean =>
  base.type === undefined || more.type === undefined || base.type === more.type
