import {
  amount,
  callable,
  fields,
  flag,
  having,
  member,
  members,
  objectOr,
  type Rule,
  type Rules,
  rule,
  text,
  wholeFrom,
} from '../../src/messages/optionRules.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { retryRules } from '../../src/model/retryPolicy.ts'
import { timeoutRules } from '../../src/model/timeouts.ts'
import type { Limits } from '../../src/transport/limits.ts'
import type { ConnectionOptions, RequestOptions, TransportOptions } from '../provider.ts'
import { headerForms, readHeaders } from './connection.ts'

const sizeRules: Rules<Limits> = {
  maxEventSize: amount,
  maxResponseSize: amount,
  maxDocumentSize: amount,
  maxErrorBodySize: amount,
}

const isHttpUrl = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

/** Advice on a URL that cannot be used. It is not quoted where it may hold a password. */
const urlAdvice = (value: unknown): string => {
  if (value instanceof URL) return ', not an object: write url.href'
  if (typeof value !== 'string') return ''
  if (value.trim() === '') return ', not empty: leave it out for the server of the provider'
  if (/^(undefined|null)\b/.test(value)) return ': a variable in it is not set'
  const [, host] = /^([\w-]+(?:\.[\w-]+)*(?::\d+)?)(?:\/|$)/.exec(value) ?? []
  if (host === undefined) return ''
  const isLocal = /^(localhost|127\.|\d+\.|[\w-]+(:|$))/.test(host)
  return `: write ${isLocal ? 'http' : 'https'}://${value.slice(0, 100)}`
}

const keyForms = 'a string, AWS credentials, or a function that returns either'
const credentialsRule: Rule = (name, value) =>
  member('accessKeyId', text)(name, value) ??
  member('secretAccessKey', text)(name, value) ??
  // Providers of credentials add fields of their own.
  members({ sessionToken: text })(name, value)
const keyRule = objectOr(
  credentialsRule,
  rule(keyForms, (value) => typeof value === 'string' || typeof value === 'function'),
)

const listPrices = { input: amount, output: amount, cached: amount, written: amount }
const priceRules = { ...listPrices, above: fields({ ...listPrices, tokens: amount }) }

/** Rules for the fields that every profile has. */
export const profileRules: Rules<ModelProfile & { like: string }> = {
  like: text,
  tools: flag,
  parallelTools: flag,
  nativeSchema: flag,
  schemaWithTools: flag,
  thinking: flag,
  deferredTools: flag,
  appendsChanges: flag,
  attachments: fields({ images: flag, pdf: flag, audio: flag, video: flag, links: flag }),
  window: wholeFrom(1),
  maxOutput: wholeFrom(1),
  deprecated: text,
  prices: fields(priceRules),
}

const transportRules: Rules<TransportOptions> = {
  dispatcher: having('dispatch'),
  fetch: callable,
  limits: fields(sizeRules),
}

/** Rules for the options of a connection, of an agent as of a provider's value. */
export const connectionRules: Rules<ConnectionOptions> = {
  apiKey: keyRule,
  baseUrl: (name, value) =>
    isHttpUrl(value)
      ? undefined
      : `${name} must be an absolute http or https URL, such as https://api.openai.com/v1${urlAdvice(value)}.`,
  headers: rule(headerForms, (value) => readHeaders(value) !== undefined),
  connection: fields(transportRules),
  // A protocol adds fields of its own: they are checked where it is known.
  profile: members(profileRules),
}

/** Rules for a request outside of a run. */
export const requestRules: Rules<ConnectionOptions & RequestOptions> = {
  ...connectionRules,
  signal: having('addEventListener'),
  retry: fields(retryRules),
  timeouts: fields(timeoutRules),
}
