// @ts-check

/** @param {number} ms */
export const duration = (ms) => {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** @param {number} ms */
export const offset = (ms) => `+${(Math.max(0, ms) / 1_000).toFixed(3)}`

/** @param {number} at */
export const timeOfDay = (at) => {
  const date = new Date(at)
  return `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** The time of day of a start, with the date if it was another day. @param {number} at */
export const clock = (at) => {
  const date = new Date(at)
  const time = date.toTimeString().slice(0, 5)
  return date.toDateString() === new Date().toDateString()
    ? time
    : `${date.toLocaleDateString('en', { month: 'short', day: 'numeric' })}, ${time}`
}

/** The tokens of a run in a word. @param {{ inputTokens?: number, outputTokens?: number } | null} usage */
export const tokens = (usage) => {
  const sum = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  if (sum === 0) return ''
  return sum < 10_000 ? `${number(sum)} tokens` : `${number(Math.round(sum / 1_000))}k tokens`
}

const grouped = new Intl.NumberFormat('en')

/** @param {number} value */
export const number = (value) => grouped.format(value)

/** The size of a text. @param {number} characters */
export const size = (characters) =>
  characters < 1_024 ? `${number(characters)} characters` : `${number(Math.round(characters / 1_024))} KiB`

const cheap = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 6 })
const usual = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })

/** US dollars: a request may cost a small part of a cent. @param {number} cost */
export const dollars = (cost) => (cost < 1 ? cheap : usual).format(cost)

/**
 * @param {number} count
 * @param {string} one
 */
export const plural = (count, one) => `${number(count)} ${one}${count === 1 ? '' : 's'}`

/**
 * An event as a person reads it.
 *
 * @param {string} event
 */
export const eventName = (event) => {
  const [, kind, rest = ''] =
    /^xstate\.(init|stop|done\.actor|error\.actor|done\.state|after)\.?(.*)$/s.exec(event) ?? []
  switch (kind) {
    case 'init':
      return 'start'
    case 'stop':
      return 'stop'
    case 'done.actor':
      return `done: ${rest}`
    case 'error.actor':
      return `error: ${rest}`
    case 'done.state':
      return `done: ${rest}`
    case 'after':
      return `after ${rest.split('.')[0]} ms`
    default:
      return event
  }
}
