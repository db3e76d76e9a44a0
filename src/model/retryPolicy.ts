import type { ErrorData } from '../messages/errors.ts'
import { amount, finiteAmount, flag, type Rules } from '../messages/optionRules.ts'

/** The rules by which failed requests are tried again. */
export type RetryPolicy = {
  /** The number of times that a failed request is tried again. Default: 2. */
  maxRetries: number
  /** The wait before the first retry; each further one doubles it. Default: 500. */
  initialDelayMs: number
  /** The longest wait. Default: 60,000. */
  maxDelayMs: number
  /** Starts over even when part of the answer was already shown; listeners get a `retry` event with `restart`. Default: `false`. */
  midStream: boolean
}

export const retryRules: Rules<RetryPolicy> = {
  maxRetries: amount,
  initialDelayMs: finiteAmount,
  maxDelayMs: amount,
  midStream: flag,
}

/** Two retries, after about 0.5 and 1 s. */
export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 2,
  initialDelayMs: 500,
  maxDelayMs: 60_000,
  midStream: false,
}

/**
 * The wait before retry number `attempt` (from 1). The provider's own wish wins; otherwise the delay doubles
 * each time, and half of it is random so that clients do not come back all at once.
 */
export const retryDelayMs = (
  policy: RetryPolicy,
  attempt: number,
  error: Pick<ErrorData, 'retryAfterMs'>,
  random: () => number,
): number => {
  const { retryAfterMs = Number.NaN } = error
  if (!Number.isNaN(retryAfterMs)) return Math.min(Math.max(0, retryAfterMs), policy.maxDelayMs)
  const ceiling = Math.min(policy.initialDelayMs * 2 ** (attempt - 1), policy.maxDelayMs)
  return Math.round(ceiling / 2 + (ceiling / 2) * random())
}
