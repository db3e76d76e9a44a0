import { ConfigurationError } from '../../src/messages/errors.ts'

/** Reads an environment variable; undefined for one that is not set or empty. */
export type ReadVariable = (name: string) => string | undefined

/** Where the environment says that a provider's server is. */
export type EnvironmentServer = {
  variables: readonly string[]
  /** Undefined where the variables say nothing. */
  url(read: ReadVariable): string | undefined
}

/** Where a provider lives: what of a preset decides on which server is asked, and which one may see its key. */
export type Place = {
  name: string
  baseUrl: string
  /** Default: `baseUrl` alone. */
  server?: EnvironmentServer
  /** The hosts that get the key of the environment. Default: that of `baseUrl`, and those below it. */
  hosts?: RegExp
}

export const environment: ReadVariable = (name) =>
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

/** Nothing is sent to a URL that still has a gap. */
export const checkServer = ({ name, baseUrl, server }: Place, url: string): void => {
  if (url !== baseUrl || !url.includes('{')) return
  const variables = server?.variables.join(' and ')
  const advice = variables ? `set ${variables} in the environment, or pass baseUrl` : 'pass baseUrl'
  throw new ConfigurationError(`${name} needs to know its server: ${advice}.`)
}

/** Whether a URL is the provider's own. */
export const isOwnHost = ({ baseUrl, hosts }: Place, url: string): boolean => {
  if (!URL.canParse(url) || !URL.canParse(baseUrl)) return false
  const { protocol, hostname, port } = new URL(url)
  const own = new URL(baseUrl)
  if (protocol !== own.protocol || port !== own.port) return false
  return hosts ? hosts.test(hostname) : hostname === own.hostname || hostname.endsWith(`.${own.hostname}`)
}

/** Whether the user, or the environment, points a preset at another server: then it is not known what answers there. */
export const isOtherServer = (place: Place, { baseUrl }: { baseUrl?: string | undefined }): boolean =>
  !isOwnHost(place, serverUrl(place, baseUrl))
