/** Reads one response header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

/** How long the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export const retryAfterMs = (header: HeaderReader, now: number = Date.now()): number | undefined =>
  numberOf(header('retry-after-ms')) ?? secondsOrDate(header('retry-after'), now)

const secondsOrDate = (value: string | undefined, now: number): number | undefined => {
  const seconds = numberOf(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  // `Date.parse` finds a date in any words with a number, and one long past: that would mean no wait at all.
  const date = value !== undefined && looksLikeDate.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const looksLikeDate = /^\s*((mon|tue|wed|thu|fri|sat|sun)[a-z]*,? |\d{4}-\d\d-\d\dT)/i

const numberOf = (value: string | undefined): number | undefined =>
  value !== undefined && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value) ? Math.max(0, Number(value)) : undefined
