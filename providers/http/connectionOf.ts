import { ConfigurationError } from '../../src/messages/errors.ts'
import { checkSome, members, type Rule, writtenAs } from '../../src/messages/optionRules.ts'
import { defaultLimits } from '../../src/transport/limits.ts'
import type { ConnectionOptions, TransportOptions } from '../provider.ts'
import { type Connection, headersOf, type KeyHeader, type Wire } from './connection.ts'
import type { ApiKey, AwsCredentials } from './credentials.ts'

/** The place of a provider: its server, the hosts that may see its key, and the form of that key. */
export type Place = {
  name: string
  baseUrl: string
  /** Default: `baseUrl` alone. */
  server?: EnvironmentServer
  /** The hosts that get the key of the environment. Default: that of `baseUrl`, and those below it. */
  hosts?: RegExp
  /** Left out where the provider needs no key. */
  keyVariable?: string
  /** The forms of `apiKey` beside a plain key, for the error where it is missing. */
  keyForms?: string
  /** Reads a key that takes more than one variable. */
  environmentKey?(read: (variable: string) => string | undefined): string | AwsCredentials | undefined
  /** Default: `authorization: Bearer <key>`. */
  keyHeader?: KeyHeader
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>
}

/** A server that the environment names. */
export type EnvironmentServer = {
  variables: readonly string[]
  /** Makes the base URL; undefined where the variables do not name one. `read` gives undefined for an empty variable. */
  url(read: (variable: string) => string | undefined): string | undefined
}

type Preset = Place & { wire?: () => Promise<Wire> }

/** The connection that a preset, the environment and a user's options make together. */
export const connectionOf = (preset: Preset, options: ConnectionOptions): Connection => {
  const { headers: ownHeaders, wire } = preset
  const { headers, connection: { dispatcher, fetch, limits } = {} } = options
  checkSome('The options of a connection', options, misplacedRules)
  const baseUrl = serverUrl(preset, options.baseUrl)
  checkServer(preset, baseUrl, options.baseUrl)
  const { apiKey, keyAdvice }: KeyChoice = isReplay(fetch) ? {} : keyFor(preset, options, baseUrl)
  return {
    baseUrl,
    ...(apiKey && { apiKey }),
    keyHeader: preset.keyHeader ?? bearer,
    ...(URL.canParse(preset.baseUrl) && { ownPath: new URL(preset.baseUrl).pathname }),
    ...(keyAdvice !== undefined && { keyAdvice }),
    ...(ownHeaders && { ownHeaders }),
    ...(headers && { headers }),
    ...(dispatcher && { dispatcher }),
    ...(fetch && { fetch }),
    ...(limits && { limits }),
    ...(wire && { wire }),
  }
}

/** Options of the connection that are written beside it instead of inside it. */
export const misplacedRules: Readonly<Record<string, Rule>> = {
  dispatcher: writtenAs('connection: { dispatcher }'),
  fetch: writtenAs('connection: { fetch }'),
  limits: members(
    Object.fromEntries(
      Object.keys(defaultLimits).map((name) => [name, writtenAs(`connection: { limits: { ${name} } }`)]),
    ),
  ),
}

/** A `fetch` that plays a recording sends nothing, so no key is looked for. */
const isReplay = (fetch: TransportOptions['fetch']): boolean =>
  fetch !== undefined && 'isReplay' in fetch && fetch.isReplay === true

export const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

type KeyChoice = { apiKey?: ApiKey | undefined; keyAdvice?: string }

/**
 * Chooses the key. That of the environment belongs to the provider, so only its own hosts get it; another server may need
 * none, and the user's headers may carry one.
 */
const keyFor = (preset: Place, { apiKey, headers }: ConnectionOptions, baseUrl: string): KeyChoice => {
  const { name, keyVariable, keyForms } = preset
  if (apiKey) return { apiKey, ...flawedKey(apiKey, name) }
  const isNamed = Object.keys(headersOf(headers)).some((header) => /auth|key/.test(header))
  if (keyVariable === undefined || isNamed) return {}
  const known = preset.environmentKey?.(environment) ?? environment(keyVariable)
  if (!isOwnHost(preset, baseUrl)) {
    const reason = known === undefined ? '' : ` ${keyVariable} only goes to the hosts of ${name}.`
    return { keyAdvice: `No key was sent: pass apiKey.${reason}` }
  }
  if (known !== undefined && apiKey === undefined)
    return { apiKey: known, keyAdvice: `Check the key in ${keyVariable}.`, ...flawedKey(known, name) }
  const forms = keyForms === undefined ? '' : `: ${keyForms}`
  throw new ConfigurationError(
    `${name} needs an API key: set the environment variable ${keyVariable}, or pass apiKey${forms}.${alike(name, keyVariable)}`,
  )
}

/** Advice for a key that came with something around it, or that belongs to another provider. */
const flawedKey = (key: ApiKey | AwsCredentials, name: string): { keyAdvice?: string } => {
  if (typeof key !== 'string') return {}
  if (/^bearer /i.test(key)) return { keyAdvice: 'The key begins with "Bearer": write what follows alone.' }
  if (/^["'`].*["'`]$/.test(key))
    return { keyAdvice: 'The key has quotation marks around it: leave them out.' }
  return /^sk-ant-/.test(key) && name !== 'anthropic' ? { keyAdvice: 'The key is one of Anthropic.' } : {}
}

/** The variables that are set and may hold the key, such as OPENAI_KEY. */
const alike = (name: string, keyVariable: string): string => {
  const [vendor] = keyVariable.split('_')
  const mayHold = new RegExp(`^(${vendor}|${name})_.*(KEY|TOKEN)$|^(${vendor}|${name})$`, 'i')
  const names = typeof process === 'undefined' ? [] : Object.keys(process.env)
  const [found] = names.filter((each) => mayHold.test(each) && environment(each) !== undefined)
  return found === undefined ? '' : ` ${found} is set, but is not read.`
}

/** Reads an environment variable; undefined for one that is not set or empty. */
export const environment = (name: string): string | undefined =>
  typeof process === 'undefined' ? undefined : process.env[name]?.trim() || undefined

/** A variable that holds the base URL. Some vendors leave the last part of it to their SDK: `path`. */
export const serverIn = (variable: string, path = ''): EnvironmentServer => ({
  variables: [variable],
  url(read) {
    const url = read(variable)?.replace(/\/+$/, '')
    return url === undefined || url.endsWith(path) ? url : `${url}${path}`
  },
})

/** The base URL: the user's, the environment's, or the provider's own. */
export const serverUrl = ({ baseUrl, server }: Place, given: string | undefined): string =>
  given ?? server?.url(environment) ?? baseUrl

/** Refuses a URL of the environment that is not one, and one that still has a gap in it. */
const checkServer = ({ name, baseUrl, server }: Place, url: string, given: string | undefined): void => {
  const variables = server?.variables.join(' and ')
  if (given === undefined && url !== baseUrl && !/^https?:\/\//i.test(url))
    throw new ConfigurationError(`${variables} must be an absolute http or https URL, such as ${baseUrl}.`)
  if (url !== baseUrl || !url.includes('{')) return
  const advice = variables ? `set ${variables} in the environment, or pass baseUrl` : 'pass baseUrl'
  throw new ConfigurationError(`${name} needs to know its server: ${advice}.`)
}

/** True for a URL of the provider itself. */
const isOwnHost = ({ baseUrl, hosts }: Place, url: string): boolean => {
  if (!URL.canParse(url) || !URL.canParse(baseUrl)) return false
  const { protocol, hostname, port } = new URL(url)
  const own = new URL(baseUrl)
  if (protocol !== own.protocol || port !== own.port) return false
  return hosts ? hosts.test(hostname) : hostname === own.hostname || hostname.endsWith(`.${own.hostname}`)
}

/** True where the user, or the environment, points a preset at another server: the models there are not known. */
export const isOtherServer = (place: Place, { baseUrl }: { baseUrl?: string | undefined }): boolean =>
  !isOwnHost(place, serverUrl(place, baseUrl))
