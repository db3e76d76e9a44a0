import { ConfigurationError } from '../src/messages/errors.ts'

/** Headers as users write them: an object, a `Headers`, or a list of pairs. */
export type HeadersLike =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | readonly (readonly [string, string])[]

/** Headers by their names in lower case, whatever form they were given in; a value that is undefined is left out. */
export const headersOf = (given: HeadersLike | undefined): Record<string, string> => {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object') throw invalid()
  const pairs: Iterable<unknown> = Symbol.iterator in given ? given : Object.entries(given)
  const headers = new Map<string, string>()
  for (const pair of pairs) {
    if (!Array.isArray(pair)) throw invalid()
    const [name, value]: unknown[] = pair
    if (value === undefined || value === null) continue
    if (typeof name !== 'string' || typeof value !== 'string') throw invalid()
    headers.set(name.toLowerCase(), value)
  }
  return Object.fromEntries(headers)
}

const invalid = (): ConfigurationError =>
  new ConfigurationError(
    'headers must be an object of texts, a Headers, or a list of pairs, such as { "x-team": "research" }.',
  )

/** Later ones win, whatever the case of their names. */
export const mergeHeaders = (...lists: Readonly<Record<string, string>>[]): Record<string, string> => {
  const merged = new Map<string, string>()
  for (const list of lists)
    for (const [name, value] of Object.entries(list)) merged.set(name.toLowerCase(), value)
  return Object.fromEntries(merged)
}
