import { ConfigurationError } from '../../src/messages/errors.ts'

/** Headers as users write them: an object, a `Headers`, or a list of pairs. */
export type HeadersLike =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | readonly (readonly [string, string])[]

/** Headers by their names in lower case, from any of the accepted forms; a value that is undefined is left out. */
export const headersOf = (given: HeadersLike | undefined): Record<string, string> => {
  const headers = readHeaders(given ?? {})
  if (headers) return headers
  throw new ConfigurationError(`headers must be ${headerForms}.`)
}

export const headerForms =
  'an object of strings, a Headers, or a list of pairs, such as { "x-team": "research" }'

/** Undefined for what cannot be headers. */
export const readHeaders = (given: unknown): Record<string, string> | undefined => {
  if (typeof given !== 'object' || given === null) return undefined
  const pairs: Iterable<unknown> = isIterable(given) ? given : Object.entries(given)
  const headers = new Map<string, string>()
  for (const pair of pairs) {
    const [name, value]: unknown[] = Array.isArray(pair) ? pair : []
    if (typeof name !== 'string') return undefined
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') return undefined
    headers.set(name.toLowerCase(), value)
  }
  return Object.fromEntries(headers)
}

const isIterable = (value: object): value is Iterable<unknown> => Symbol.iterator in value

/** Later ones win; the case of their names does not matter. */
export const mergeHeaders = (...lists: Readonly<Record<string, string>>[]): Record<string, string> => {
  const merged = new Map<string, string>()
  for (const list of lists)
    for (const [name, value] of Object.entries(list)) merged.set(name.toLowerCase(), value)
  return Object.fromEntries(merged)
}
