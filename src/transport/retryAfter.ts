/** Reads one response header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

/** How long the server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export const retryAfterMs = (header: HeaderReader, now: number = Date.now()): number | undefined =>
  numberOf(header('retry-after-ms')) ?? secondsOrDate(header('retry-after'), now)

const secondsOrDate = (value: string | undefined, now: number): number | undefined => {
  const seconds = numberOf(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  const date = value === undefined ? Number.NaN : Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const numberOf = (value: string | undefined): number | undefined =>
  value !== undefined && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value) ? Math.max(0, Number(value)) : undefined
