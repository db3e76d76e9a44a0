import type { JsonObject } from '../messages/json.ts'
import type { Facts } from './facts.ts'

/** What the name of a property means. The first that fits counts, its name before its description. */
const kinds: [RegExp, (facts: Facts) => readonly string[]][] = [
  [/expression|formula|calculation|equation/, ({ expressions }) => expressions],
  [/path|file/, ({ files }) => files],
  [/\burl|link|\buri|website/, ({ links }) => links],
  [/mail/, ({ emails }) => emails],
  [/\bdate|\bday\b/, ({ dates }) => dates],
  [/\bfrom\b/, ({ conversion, places }) => (conversion ? [conversion.from] : places.slice(0, 1))],
  [/\b(?:to|into|target)\b/, ({ conversion, places }) => (conversion ? [conversion.to] : places.slice(1, 2))],
  [/\bcit(?:y|ies)|place|location|town|countr|region|zone|destination|capital/, ({ places }) => places],
  [/\bnames?\b|person|people|customer|author|user/, ({ names }) => names],
  [
    /query|question|prompt|text|message|input|topic|task|search|term|instruction/,
    ({ quotes, text }) => (quotes.length > 0 ? quotes.slice(0, 1) : [text]),
  ],
]

/** The facts for a property of this name; undefined if the name says nothing. */
export const namedFacts = (name: string, schema: JsonObject, facts: Facts): readonly string[] | undefined => {
  const description = typeof schema.description === 'string' ? schema.description : ''
  const byName = kinds.find(([pattern]) => pattern.test(wordsOf(name)))
  const kind = byName ?? kinds.find(([pattern]) => pattern.test(description.toLowerCase()))
  return kind?.[1](facts)
}

/** A name in lower-case words: `cityName` and `city_name` are both "city name". */
export const wordsOf = (name: string): string =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toLowerCase()
