/** The source of time. XState's `SimulatedClock` is one, too. */
export type Clock = {
  now(): number
  setTimeout(callback: () => void, ms: number): unknown
  clearTimeout(id: unknown): void
}

/** Node runs a longer timer at once. */
export const longestTimeoutMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, Math.min(ms, longestTimeoutMs)),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
}
