import type { Dispatcher } from 'undici'
import { version } from '../../package.json'
import { toBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { withDefaults } from '../../src/messages/optionRules.ts'
import type { Bytes, HttpRequest } from '../../src/transport/carriers.ts'
import type { Carrier } from '../../src/transport/exchange.ts'
import type { BodyFraming } from '../../src/transport/framing.ts'
import { defaultLimits, type Limits } from '../../src/transport/limits.ts'
import { bodyText } from '../wire/written.ts'
import {
  type ApiKey,
  type AwsCredentials,
  askForKey,
  decoded,
  type Key,
  keyOf,
  Secrets,
} from './credentials.ts'

/** The headers that carry a key. `isToken`: a function gave it. */
export type KeyHeader = (key: string, isToken: boolean) => Record<string, string>

/** The way to reach a provider. */
export type Connection = {
  baseUrl: string
  apiKey?: ApiKey
  keyHeader: KeyHeader
  /** The advice where the key is refused, if it is not to check it. */
  keyAdvice?: string
  /** The path of the provider's own base URL, such as /v1. */
  ownPath?: string
  /** The provider's own, sent with every request. */
  ownHeaders?: Readonly<Record<string, string>>
  /** The user's headers; they win over all others. */
  headers?: HeadersLike
  /** A dispatcher of undici, e.g. a `ProxyAgent`. */
  dispatcher?: Dispatcher
  /** Used instead of undici. */
  fetch?: typeof fetch
  limits?: Partial<Limits>
  /** Loaded with the first request. */
  wire?: () => Promise<Wire>
}

/** The parts of a wire beyond JSON over HTTP. They may come from packages that are not always there. */
export type Wire = {
  /** Headers that sign a request. */
  sign(request: HttpRequest, credentials: AwsCredentials): Promise<Record<string, string>>
  /** Frames bodies that are not text. */
  framing: BodyFraming
}

/** A request as a mapper writes it; without a body it is a GET. */
export type ProviderRequest = {
  path: string
  body?: JsonObject
  /** A body that is not JSON; its type is among the headers. */
  bytes?: Bytes
  headers?: Record<string, string>
}

/** A connection made ready: builds HTTP requests, and knows what must never be shown. */
export type Endpoint = {
  /** A promise where the key is asked for or signs the request. */
  request(wanted: ProviderRequest): HttpRequest | Promise<HttpRequest>
  /** True where another key may help after this status. */
  renewsKeyAfter(status: number): boolean
  /** The framing of bodies, known with the first request. */
  framing(): BodyFraming | undefined
  carrier: Carrier
  limits: Limits
  keyAdvice: string | undefined
  ownPath: string | undefined
  /** Grows when a function gives another key. */
  secrets: readonly string[]
}

export const endpointOf = (connection: Connection): Endpoint => {
  const { apiKey, keyHeader, wire: loadWire } = connection
  const base = parseBase(connection.baseUrl)
  const users = headersOf(connection.headers)
  const secrets = new Secrets(base, users)
  const fixedKey = typeof apiKey === 'function' ? undefined : keyOf(apiKey)
  if (fixedKey) secrets.add(fixedKey)
  const own = {
    accept: 'text/event-stream, application/x-ndjson, application/json',
    'accept-encoding': 'identity',
    'user-agent': `statewire/${version}`,
    ...credentialsOf(base),
    ...connection.ownHeaders,
  }
  const headersWith = (keyHeaders: Record<string, string>) => ({
    plain: mergeHeaders(own, keyHeaders, users),
    withBody: mergeHeaders(own, { 'content-type': 'application/json' }, keyHeaders, users),
  })
  type HeaderSets = ReturnType<typeof headersWith>

  // A model sends nearly all its requests to one path.
  let latest: { path: string; url: URL } | undefined
  const urlFor = (path: string): URL => {
    if (latest?.path !== path) latest = { path, url: urlOf(base, path) }
    return latest.url
  }
  const build = ({ path, body, bytes, headers }: ProviderRequest, sets: HeaderSets): HttpRequest => {
    const common = body ? sets.withBody : sets.plain
    return {
      method: body || bytes ? 'POST' : 'GET',
      url: urlFor(path),
      headers: headers ? mergeHeaders(common, headers, users) : common,
      ...(body && { body: bodyText(body) }),
      ...(bytes && { body: bytes }),
    }
  }

  let wire: Wire | undefined
  const withKey = async (wanted: ProviderRequest, key: Key | undefined): Promise<HttpRequest> => {
    if (loadWire) wire ??= await loadWire()
    if (key === undefined) return build(wanted, headersWith({}))
    secrets.add(key)
    if (typeof key === 'string')
      return build(wanted, headersWith(keyHeader(key, typeof apiKey === 'function')))
    if (!wire) throw new ConfigurationError('Only bedrock takes AWS credentials: apiKey must be a string.')
    const request = build(wanted, headersWith({}))
    return { ...request, headers: mergeHeaders(request.headers, await wire.sign(request, key), users) }
  }
  const isSimple = typeof apiKey !== 'function' && typeof fixedKey !== 'object' && !loadWire
  const simple = isSimple ? headersWith(fixedKey ? keyHeader(fixedKey, false) : {}) : undefined

  return {
    request: (wanted) => {
      if (simple) return build(wanted, simple)
      if (typeof apiKey !== 'function') return withKey(wanted, fixedKey)
      return askForKey(apiKey).then((key) => withKey(wanted, key))
    },
    // AWS says 403 where credentials have expired.
    renewsKeyAfter: (status) =>
      typeof apiKey === 'function' && (status === 401 || (status === 403 && loadWire !== undefined)),
    framing: () => wire?.framing,
    carrier: { dispatcher: connection.dispatcher, fetch: connection.fetch },
    limits: withDefaults(defaultLimits, connection.limits),
    keyAdvice: connection.keyAdvice,
    ownPath: connection.ownPath,
    secrets: secrets.list,
  }
}

const parseBase = (baseUrl: string): URL => {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new ConfigurationError(
    'baseUrl must be an absolute http or https URL, such as https://api.openai.com/v1.',
  )
}

/** The path goes below the base's own path, and the base's query stays: some gateways keep a version in it. */
const urlOf = (base: URL, path: string): URL => {
  const [pathname = '', query = ''] = path.split('?')
  // A URL resolves `..` by itself, and would lead somewhere else.
  if (dotSegment.test(pathname.replace(/[\t\n\r]/g, ''))) {
    throw new ConfigurationError(
      'No part of a request’s path may be "." or "..": check the name of the model.',
    )
  }
  const url = new URL(base)
  url.username = url.password = url.hash = ''
  url.pathname = `${base.pathname.replace(/\/+$/, '')}/${pathname.replace(/^\/+/, '')}`
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value)
  return url
}

const dotSegment = /(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i

const credentialsOf = ({ username, password }: URL): Record<string, string> => {
  if (username === '' && password === '') return {}
  const pair = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${toBase64(new TextEncoder().encode(pair))}` }
}

/** Headers as users write them: an object, a `Headers`, or a list of pairs. */
export type HeadersLike =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | readonly (readonly [string, string])[]

/** Headers by their names in lower case, from any of the accepted forms; a value that is undefined is left out. */
export const headersOf = (given: HeadersLike | undefined): Record<string, string> => {
  const headers = readHeaders(given ?? {})
  if (headers) return headers
  throw new ConfigurationError(`headers must be ${headerForms}.`)
}

export const headerForms =
  'an object of strings, a Headers, or a list of pairs, such as { "x-team": "research" }'

/** Reads headers; undefined for a value that cannot be headers. */
export const readHeaders = (given: unknown): Record<string, string> | undefined => {
  if (typeof given !== 'object' || given === null) return undefined
  const pairs: Iterable<unknown> = isIterable(given) ? given : Object.entries(given)
  const headers = new Map<string, string>()
  for (const pair of pairs) {
    const [name, value]: unknown[] = Array.isArray(pair) ? pair : []
    if (typeof name !== 'string') return undefined
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') return undefined
    headers.set(name.toLowerCase(), value)
  }
  return Object.fromEntries(headers)
}

const isIterable = (value: object): value is Iterable<unknown> => Symbol.iterator in value

/** Headers that hold lists. Anthropic refuses a body with fields of a beta that is not named. */
const lists: ReadonlySet<string> = new Set(['anthropic-beta'])

/** Merges headers: later ones win, lists are joined, and the case of their names does not matter. */
const mergeHeaders = (...sets: Readonly<Record<string, string>>[]): Record<string, string> => {
  const merged = new Map<string, string>()
  for (const [given, value] of sets.flatMap(Object.entries<string>)) {
    const name = given.toLowerCase()
    const before = lists.has(name) ? merged.get(name) : undefined
    merged.set(name, before === undefined ? value : joined(before, value))
  }
  return Object.fromEntries(merged)
}

const joined = (...values: string[]): string =>
  [...new Set(values.flatMap((value) => value.split(',')).map((each) => each.trim()))].join(',')
