import { type ErrorData, errorDataOf } from '../../src/messages/errors.ts'
import { nearest } from '../../src/messages/optionNames.ts'
import type { HeaderReader, WholeAnswer } from '../../src/transport/carriers.ts'
import { redact, redactError } from '../../src/transport/redact.ts'
import { modelTables } from '../models/index.ts'
import { isRetryableStatus, modelError } from '../wire/error.ts'
import type { WireError } from '../wire/protocol.ts'

type ErrorReader = {
  provider: string
  /** The protocol's reader of error bodies. */
  error(body: unknown): WireError | undefined
  secrets: readonly string[]
}

/** The request that a server refused. */
type Refused = {
  provider: string
  /** Left out where no model was asked. */
  model?: string
  url: URL
  secrets: readonly string[]
  /** The advice where the key is refused, if it is not to check it. */
  keyAdvice?: string | undefined
}

/** The error of an answer with an error status, with the provider's own message if there is one. */
export const httpError = (answer: WholeAnswer, reader: ErrorReader): ErrorData => {
  const { provider, error, secrets } = reader
  const { status, header } = answer
  const wire = readError(error, answer.body)
  const requestId = wire?.requestId ?? requestIdOf(header)
  const waitMs = retryAfterMs(header) ?? wire?.retryAfterMs
  const problem: WireError = {
    ...wire,
    message: messageOf(answer, wire, reader),
    ...(requestId !== undefined && { requestId }),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  }
  const advised = shouldRetry(header)
  const data = modelError(problem, { status, mayPass: advised ?? isRetryableStatus(status) })
  // A server may echo a key anywhere, even in the id of a request.
  return redactError({ ...data, provider }, secrets)
}

/** The error of a request that was never sent: it could not be built, or its key could not be had. */
export const unsentError = (thrown: unknown, provider: string, secrets: readonly string[]): ErrorData =>
  redactError({ retryable: false, ...errorDataOf(thrown, 'ConfigurationError'), provider }, secrets)

export const requestIdHeaders = [
  'x-request-id',
  'request-id',
  'x-goog-request-id',
  'x-amzn-requestid',
  'apim-request-id',
  'mistral-correlation-id',
  'cf-ray',
]

/** The id under which the provider's support finds the request. */
export const requestIdOf = (header: HeaderReader): string | undefined =>
  requestIdHeaders.map(header).find((id) => id !== undefined && id !== '')

/** OpenAI and Anthropic say themselves whether another try makes sense. */
const shouldRetry = (header: HeaderReader): boolean | undefined => {
  const word = header('x-should-retry')
  return word === 'true' ? true : word === 'false' ? false : undefined
}

const messageOf = (answer: WholeAnswer, wire: WireError | undefined, reader: ErrorReader): string => {
  const { status } = answer
  const { secrets } = reader
  // A browser's `fetch` hides a redirect behind status 0.
  if (status === 0 || (status >= 300 && status < 400)) return redact(redirectMessage(answer), secrets)
  // Redacted before anything is cut off: half a key would not be recognised.
  return wire?.message ? redact(wire.message, secrets) : fallbackMessage(answer, secrets)
}

/** The error with the place that answered and the usual cause, for people. The provider's own words stay first. */
export const withPlace = (error: ErrorData, refused: Refused): ErrorData => {
  const { status } = error
  if (!status || error.code === 'context_overflow') return error
  const { provider, model, url, secrets } = refused
  const who = model === undefined ? provider : `${provider}:${model}`
  const place = redact(`${url.host}${url.pathname}`, secrets)
  const advice = adviceOn(status, refused)
  const said = error.message.startsWith(`HTTP ${status}`) ? '' : `, HTTP ${status}`
  const message = `${error.message} (${who} at ${place}${said}${advice && `. ${advice}`})`
  return { ...error, message, ...(model !== undefined && { model }) }
}

/** The usual cause of a status. */
const adviceOn = (status: number, { provider, model = '', url, keyAdvice }: Refused): string => {
  if (status === 401) return keyAdvice ?? `Check the API key of ${provider}.`
  if (status === 402) return 'The account has no credit left.'
  if (status === 403) return keyAdvice ?? `Check what the API key of ${provider} may do.`
  if (status !== 404 && status !== 405) return ''
  if (!/\/(v\d|api\b|inference)/.test(url.pathname)) return 'Is /v1 missing from baseUrl?'
  const meant = similarModel(model)
  return meant === undefined
    ? 'Check the name of the model and baseUrl.'
    : `Did you mean ${provider}:${meant}?`
}

/** A known model that differs in one or two letters. */
const similarModel = (model: string): string | undefined => {
  const names = modelTables.flatMap(({ rows }) => rows.flatMap((row) => row.names))
  const meant = nearest(model, names, 2)
  return meant === model ? undefined : meant
}

const fallbackMessage = ({ status, statusText, body }: WholeAnswer, secrets: readonly string[]): string => {
  const text = plainText(redact(body, secrets)).slice(0, 300)
  return `HTTP ${status}${statusText && ` ${statusText}`}${text && `: ${text}`}`
}

const redirectMessage = ({ status, header }: WholeAnswer): string => {
  const location = header('location') ?? ''
  const target = URL.canParse(location) ? new URL(location) : undefined
  // Only origin and path: the query of a redirect may hold a token.
  const place = target ? `${target.origin}${target.pathname}` : location.replace(/[?#].*$/s, '')
  return `The server redirects${status > 0 ? ` (HTTP ${status})` : ''}${place && ` to ${place}`}. Redirects are not followed, so that the key stays with its host: check baseUrl.`
}

const plainText = (body: string): string =>
  body
    .slice(0, 4000)
    .replace(/<(script|style)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** Reads the body with the protocol. A body that trips its reader must not hide the status. */
const readError = (read: ErrorReader['error'], body: string): WireError | undefined => {
  try {
    const value: unknown = JSON.parse(body)
    // Google wraps the errors of its streaming endpoints in an array.
    return read(Array.isArray(value) ? value[0] : value)
  } catch {
    return undefined
  }
}

/** The wait that the server asks for: `retry-after-ms`, or `retry-after` in seconds or as a date. */
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
