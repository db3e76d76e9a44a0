import { type ErrorData, errorDataOf } from '../../src/messages/errors.ts'
import { isJsonObject } from '../../src/messages/json.ts'
import { nearest } from '../../src/messages/optionNames.ts'
import type { HeaderReader, WholeAnswer } from '../../src/transport/carriers.ts'
import { redact, redactError } from '../../src/transport/redact.ts'
import type { ModelTable } from '../models/modelFacts.ts'
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
  /** The path of the provider's own base URL. */
  ownPath?: string | undefined
  /** The tables of the models that it has. */
  tables?: readonly ModelTable[] | undefined
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

/** The field that an error body names beside its words, as OpenAI's do: some servers say no more than "Invalid input". */
export const fieldIn = (body: string): string | undefined => {
  const value = parsed(body)
  const error = isJsonObject(value) ? (value.error ?? value) : undefined
  return isJsonObject(error) && typeof error.param === 'string' ? error.param : undefined
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
  return placed(error, refused, adviceOn(status, error.message, refused))
}

/** Adds the place also where a server answered with success, and with a page instead of a model's answer. */
export const pageWithPlace = (error: ErrorData, refused: Refused): ErrorData =>
  error.code === 'html_page' || error.code === 'unexpected_body'
    ? placed(error, refused, pathAdvice(refused) ?? 'Check baseUrl.')
    : error

const placed = (error: ErrorData, refused: Refused, advice: string): ErrorData => {
  const { status } = error
  const { provider, model, url, secrets } = refused
  const who = model === undefined ? provider : `${provider}:${model}`
  const place = redact(`${url.host}${url.pathname}`, secrets)
  const isSaid = status === undefined || error.message.startsWith(`HTTP ${status}`)
  const said = isSaid ? '' : `, HTTP ${status}`
  const message = `${error.message} (${who} at ${place}${said}${advice && `. ${advice}`})`
  return { ...error, message, ...(model !== undefined && { model }) }
}

/** The usual cause of a status. */
const adviceOn = (status: number, said: string, refused: Refused): string => {
  const { provider, model = '', keyAdvice, tables = [] } = refused
  if (status === 401) return keyAdvice ?? `Check the API key of ${provider}.`
  if (status === 402) return 'The account has no credit left.'
  if (status === 403) return keyAdvice ?? `Check what the API key of ${provider} may do.`
  const isUnknown = /model.*(not found|not exist|not_found|unknown|no such)|unknown model/i.test(said)
  if (status !== 404 && status !== 405 && !isUnknown) return ''
  const wrongPath = isUnknown ? undefined : pathAdvice(refused)
  if (wrongPath !== undefined) return wrongPath
  const meant = similarModel(model, tables)
  if (meant !== undefined) return `Did you mean ${provider}:${meant}?`
  return isUnknown ? 'Check the name of the model.' : 'Check the name of the model and baseUrl.'
}

/** Advice for a base URL that holds too much, or too little; undefined for one that may be right. */
const pathAdvice = ({ url, ownPath = '/v1' }: Refused): string | undefined => {
  const [whole] = /\/(chat\/completions|responses|messages|embeddings)(?=\/)/.exec(url.pathname) ?? []
  if (whole !== undefined) return `baseUrl ends before ${whole}: leave the rest out.`
  return ownPath === '/' || /\/(v\d|api\b|inference)/.test(url.pathname)
    ? undefined
    : `Is ${ownPath} missing from baseUrl?`
}

/** A known model that differs in one or two letters. */
const similarModel = (model: string, tables: readonly ModelTable[]): string | undefined => {
  const names = tables.flatMap(({ rows }) => rows.flatMap((row) => row.names))
  const meant = nearest(model, names, 2)
  return meant === model ? undefined : meant
}

const fallbackMessage = ({ status, statusText, body }: WholeAnswer, secrets: readonly string[]): string => {
  const words = plainText(redact(body, secrets)).slice(0, 300)
  // The page of a proxy says the status again, as its title and as its heading.
  const isMore =
    words
      .replaceAll(`${status}`, '')
      .replaceAll(statusText || ' ', '')
      .trim() !== ''
  const text = isMore ? words : ''
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
    const value = parsed(body)
    // Google wraps the errors of its streaming endpoints in an array.
    return read(Array.isArray(value) ? value[0] : value)
  } catch {
    return undefined
  }
}

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
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
