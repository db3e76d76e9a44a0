import { deepestJson } from './jsonDepth.ts'

/** Any value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject

/** An object that JSON can hold. */
export type JsonObject = { [key: string]: JsonValue }

/** Checks whether a value is an object, and not a list. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON in which the order of keys does not count: databases do not keep it. */
export const stableJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? 'undefined'

/**
 * JSON in which all invisible characters are escapes: two different calls must not look the same to the person who
 * decides. Invisible are signs of no width, unusual spaces, and signs that change the direction of text.
 */
export const visibleJson = (value: unknown): string =>
  (JSON.stringify(value) ?? 'undefined').replace(invisible, (sign) =>
    sign === ' ' ? sign : sign.split('').map(escaped).join(''),
  )

const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Own-key lookup: a key such as `__proto__` or `constructor` from a wire never reaches the prototype. */
export const ownValue = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/**
 * A copy that shares nothing with the original. Reads values as `JSON.stringify` does, but throws for values that would
 * be lost (functions, symbols, BigInts), and for circular data.
 */
export const copyJson = (value: unknown, depth = 0): JsonValue => {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'object')
    throw new TypeError(`${value === undefined ? '' : 'a '}${typeof value}, which JSON cannot hold`)
  if (depth > deepestJson)
    throw new TypeError(`data that is circular, or nests deeper than ${deepestJson} levels`)
  if ('toJSON' in value && typeof value.toJSON === 'function') return copyJson(value.toJSON(), depth + 1)
  if (Array.isArray(value)) return value.map((item) => copyJson(item ?? null, depth + 1))
  const copied: JsonObject = {}
  for (const key of Object.keys(value)) {
    const item = (value as JsonObject)[key]
    if (item === undefined) continue
    // Most fields are texts, and this runs at every step of a run: a call for each costs more than the rest.
    const copy = typeof item === 'string' ? item : copyJson(item, depth + 1)
    // Assigned, it would change the copy's prototype instead.
    if (key === '__proto__') Object.defineProperty(copied, key, { ...plainData, value: copy })
    else copied[key] = copy
  }
  return copied
}

const plainData = { enumerable: true, configurable: true, writable: true }
