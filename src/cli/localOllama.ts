import { readModels } from '../../providers/modelListing.ts'
import type { JsonValue } from '../messages/json.ts'

export type LocalOllama = { baseUrl: string; models: string[] }

/** The Ollama on this machine, or where `OLLAMA_HOST` says; undefined when it does not answer at once. */
export const localOllama = async (
  env: NodeJS.ProcessEnv,
  patienceMs: number,
): Promise<LocalOllama | undefined> => {
  const baseUrl = ollamaUrl(env)
  try {
    const response = await fetch(`${baseUrl}/tags`, { signal: AbortSignal.timeout(patienceMs) })
    if (!response.ok) return undefined
    const listed: JsonValue = JSON.parse(await response.text())
    const models = readModels(listed).map(({ id }) => id)
    // An embeddings model cannot talk.
    return { baseUrl, models: models.filter((id) => !/embed|bge-|minilm/i.test(id)) }
  } catch {
    return undefined
  }
}

/** Where the two presets of Ollama find it. */
export const ollamaUrls = (env: NodeJS.ProcessEnv): ReadonlyMap<string, string> => {
  const url = ollamaUrl(env)
  return new Map([
    ['ollama', url],
    ['ollama-openai', url.replace(/\/api$/, '/v1')],
  ])
}

/** `OLLAMA_HOST` may be a URL, or a host with or without a port; 0.0.0.0 is where a server listens, not where it is. */
export const ollamaUrl = ({ OLLAMA_HOST = '' }: NodeJS.ProcessEnv): string => {
  const host = OLLAMA_HOST.trim() || '127.0.0.1'
  const text = /^https?:\/\//.test(host) ? host : `http://${host}`
  if (!URL.canParse(text)) return ollamaUrl({})
  const url = new URL(text)
  if (url.port === '' && !/^https?:\/\//.test(host)) url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return `${url.origin}/api`
}
