import { ConfigurationError } from '../../src/messages/errors.ts'
import { checkOptions, fields, type Rule, writtenAs } from '../../src/messages/optionRules.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { defaultLimits } from '../../src/transport/limits.ts'
import type { ProviderPreset } from '../defineProvider.ts'
import type { ConnectionOptions, TransportOptions } from '../provider.ts'
import type { ApiKey } from './apiKey.ts'
import type { Connection } from './connection.ts'
import { headersOf } from './headers.ts'
import { checkServer, environment, isOwnHost, serverUrl } from './server.ts'

type KeyPreset = Omit<ProviderPreset<ModelProfile>, 'protocol' | 'profile' | 'recover'>

/** How a user's options, the environment and a preset reach a provider together. */
export const connectionOf = (preset: KeyPreset, options: ConnectionOptions): Connection => {
  const { headers: ownHeaders, wire } = preset
  const { headers, connection: { dispatcher, fetch, limits } = {} } = options
  checkOptions('The options of a connection', options, misplacedRules)
  const baseUrl = serverUrl(preset, options.baseUrl)
  checkServer(preset, baseUrl)
  const { apiKey, keyAdvice }: KeyChoice = isReplay(fetch) ? {} : keyFor(preset, options, baseUrl)
  return {
    baseUrl,
    ...(apiKey && { apiKey }),
    keyHeader: preset.keyHeader ?? bearer,
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
  limits: fields(
    Object.fromEntries(
      Object.keys(defaultLimits).map((name) => [name, writtenAs(`connection: { limits: { ${name} } }`)]),
    ),
  ),
}

/** What plays a recording sends nothing: no key is looked for, and none is asked for. */
const isReplay = (fetch: TransportOptions['fetch']): boolean =>
  fetch !== undefined && 'isReplay' in fetch && fetch.isReplay === true

export const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

type KeyChoice = { apiKey?: ApiKey | undefined; keyAdvice?: string }

/**
 * The key of the environment belongs to the provider, and only its own hosts get it. Another server may well need none.
 * The user's headers may carry one, too.
 */
const keyFor = (preset: KeyPreset, { apiKey, headers }: ConnectionOptions, baseUrl: string): KeyChoice => {
  if (apiKey) return { apiKey }
  const { name, keyVariable, keyForms } = preset
  const isNamed = Object.keys(headersOf(headers)).some((header) => /auth|key/.test(header))
  if (keyVariable === undefined || isNamed) return {}
  const known = preset.environmentKey?.(environment) ?? environment(keyVariable)
  if (!isOwnHost(preset, baseUrl)) {
    const reason = known === undefined ? '' : ` ${keyVariable} only goes to the hosts of ${name}.`
    return { keyAdvice: `No key was sent: pass apiKey.${reason}` }
  }
  if (known !== undefined && apiKey === undefined) return { apiKey: known }
  const forms = keyForms === undefined ? '' : `: ${keyForms}`
  throw new ConfigurationError(
    `${name} needs an API key: set the environment variable ${keyVariable}, or pass apiKey${forms}.`,
  )
}
