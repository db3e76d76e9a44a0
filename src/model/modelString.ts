import { ConfigurationError } from '../messages/errors.ts'

/** The parts of a model string: a provider, and its models by use; a model left out means the provider's default. */
export type ModelName = { provider: string; chat?: string; embeddings?: string; media?: string }

/**
 * Reads a model string: `provider`, `provider:model`, `provider/model`, `provider?chat=a&embeddings=b&media=c`. After a colon
 * the model keeps its own slashes and colons.
 *
 * @example parseModelString('openrouter:google/gemini-3.8-flash') // { provider: 'openrouter', chat: 'google/gemini-3.8-flash' }
 */
export const parseModelString = (text: string): ModelName => {
  if (typeof text !== 'string')
    throw new ConfigurationError("A model is named by a string, such as 'openai:gpt-6-luna'.")
  const [path = '', query, ...more] = text.trim().split('?')
  if (more.length > 0) throw bad(text, 'it has more than one "?"')
  const [, provider = '', separator, model = ''] = /^([^:/]*)(?:([:/])(.*))?$/s.exec(path) ?? []
  if (provider.trim() === '') throw bad(text, 'the provider is missing')
  if (/\s/.test(text.trim())) throw bad(text, 'it contains spaces')
  if (separator === '/' && model.includes('/')) {
    throw bad(text, `a model with slashes follows a colon: "${provider}:${model}"`)
  }
  const roles = query === undefined ? {} : parseQuery(text, query)
  if (model !== '' && roles.chat !== undefined) throw bad(text, 'the chat model is named twice')
  const chat = decoded(model) || roles.chat
  return {
    provider,
    ...(chat && { chat }),
    ...(roles.embeddings && { embeddings: roles.embeddings }),
    ...(roles.media && { media: roles.media }),
  }
}

const parseQuery = (text: string, query: string): Omit<ModelName, 'provider'> => {
  const roles: Omit<ModelName, 'provider'> = {}
  for (const pair of query.split('&')) {
    const at = pair.indexOf('=')
    const key = at < 0 ? pair : pair.slice(0, at)
    if (key !== 'chat' && key !== 'embeddings' && key !== 'media') {
      throw bad(text, `"${key}" is not a role: use chat, embeddings or media`)
    }
    roles[key] = at < 0 ? '' : decoded(pair.slice(at + 1))
  }
  return roles
}

/**
 * The model string of a name; parsing it gives the name back.
 *
 * @example formatModelString({ provider: 'openai', chat: 'gpt-6-luna' }) // 'openai:gpt-6-luna'
 */
export const formatModelString = ({ provider, chat, embeddings, media }: ModelName): string => {
  if (embeddings === undefined && media === undefined)
    return chat === undefined ? provider : `${provider}:${encoded(chat)}`
  const roles = Object.entries({ chat, embeddings, media }).flatMap(([role, model]) =>
    model === undefined ? [] : [`${role}=${encoded(model)}`],
  )
  return `${provider}?${roles.join('&')}`
}

/** Escapes only what has a meaning in a model string: names stay readable. */
const encoded = (model: string): string => model.replace(/[%?&\s]/g, encodeURIComponent)

const decoded = (model: string): string => model.replace(/%(25|3F|26|20|09|0A|0D)/gi, decodeURIComponent)

const bad = (text: string, problem: string) =>
  new ConfigurationError(
    `"${text}" is not a model string: ${problem}. Write "provider", "provider:model" or "provider?chat=…&embeddings=…".`,
  )
