import type { Dispatcher } from 'undici'
import { textFromBase64, toBase64 } from '../src/messages/base64.ts'
import { ConfigurationError } from '../src/messages/errors.ts'
import type { JsonObject } from '../src/messages/json.ts'
import type { Carrier, HttpRequest } from '../src/transport/exchange.ts'
import { defaultLimits, type Limits } from '../src/transport/limits.ts'

/** How to reach a provider. */
export type Connection = {
  baseUrl: string
  apiKey?: string
  /** The headers that carry the key. */
  keyHeader: (key: string) => Record<string, string>
  /** The user's own; they win over all others. */
  headers?: Record<string, string>
  /** A dispatcher of undici, e.g. a `ProxyAgent`. */
  dispatcher?: Dispatcher
  /** Used instead of undici. */
  fetch?: typeof fetch
  limits?: Partial<Limits>
}

/** What a mapper wants sent; without a body it is a GET. */
export type ProviderRequest = { path: string; body?: JsonObject; headers?: Record<string, string> }

/** A connection made ready: builds HTTP requests, and knows what must never be shown. */
export type Endpoint = {
  request(wanted: ProviderRequest): HttpRequest
  carrier: Carrier
  limits: Limits
  secrets: readonly string[]
}

export const endpointOf = (connection: Connection): Endpoint => {
  const base = parseBase(connection.baseUrl)
  // A key read from a file often ends with a line break, which no header may hold.
  const key = connection.apiKey?.trim()
  const keyHeaders = key ? connection.keyHeader(key) : {}
  const own = {
    accept: 'text/event-stream, application/x-ndjson, application/json',
    'accept-encoding': 'identity',
    'user-agent': 'statewire',
    ...credentialsOf(base),
  }
  const users = connection.headers ?? {}
  const plain = mergeHeaders(own, keyHeaders, users)
  const withBody = mergeHeaders(own, { 'content-type': 'application/json' }, keyHeaders, users)
  // A model sends nearly all its requests to one path.
  let latest: { path: string; url: URL } | undefined
  const urlFor = (path: string): URL => {
    if (latest?.path !== path) latest = { path, url: urlOf(base, path) }
    return latest.url
  }
  return {
    request: ({ path, body, headers }) => {
      const common = body ? withBody : plain
      return {
        method: body ? 'POST' : 'GET',
        url: urlFor(path),
        headers: headers ? mergeHeaders(common, headers, users) : common,
        ...(body && { body: JSON.stringify(body) }),
      }
    },
    carrier: { dispatcher: connection.dispatcher, fetch: connection.fetch },
    limits: { ...defaultLimits, ...connection.limits },
    secrets: secretsOf(base, key, users),
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
  const url = new URL(base)
  url.username = url.password = url.hash = ''
  url.pathname = `${base.pathname.replace(/\/+$/, '')}/${pathname.replace(/^\/+/, '')}`
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value)
  return url
}

const credentialsOf = ({ username, password }: URL): Record<string, string> => {
  if (username === '' && password === '') return {}
  const pair = `${decoded(username)}:${decoded(password)}`
  return { authorization: `Basic ${toBase64(new TextEncoder().encode(pair))}` }
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Later ones win, whatever the case of their names. */
const mergeHeaders = (...lists: Record<string, string>[]): Record<string, string> => {
  const merged = new Map<string, string>()
  for (const list of lists)
    for (const [name, value] of Object.entries(list)) merged.set(name.toLowerCase(), value)
  return Object.fromEntries(merged)
}

const secretName = /key|token|secret|auth|cookie|cred|pass|pwd|sig|session|jwt|bearer|^code$/i

const secretsOf = (base: URL, key: string | undefined, headers: Record<string, string>): string[] => {
  const secrets = [key ?? '', ...userinfoSecrets(base)]
  for (const [name, value] of [...Object.entries(headers), ...base.searchParams]) {
    if (!secretName.test(name)) continue
    // The value as a whole and without its scheme: servers echo either.
    const bare = value.slice(value.lastIndexOf(' ') + 1)
    secrets.push(value, bare)
    if (/^basic /i.test(value)) secrets.push(...passwordIn(bare))
  }
  return secrets
}

/** A name is a secret where no password stands beside it: some gateways take the key there. */
const userinfoSecrets = ({ username, password }: URL): string[] =>
  password === ''
    ? [decoded(username), `${decoded(username)}:`]
    : [decoded(password), `${decoded(username)}:${decoded(password)}`]

const passwordIn = (pair: string): string[] => {
  const [name = '', ...password] = textFromBase64(pair).split(':')
  return [password.join(':') || name]
}
