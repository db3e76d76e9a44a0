/**
 * A cost as a person reads it, with as many digits as a cheap request needs.
 *
 * @example dollars(0.0042) // $0.0042
 */
export const dollars = (cost: number): string =>
  cost.toLocaleString('en-US', {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: cost < 1 ? 6 : 2,
  })
