import { readModels } from '../../providers/http/httpJson.ts'
import { ollamaUrl } from '../../providers/ollama/index.ts'
import type { JsonValue } from '../messages/json.ts'

export type LocalOllama = { baseUrl: string; models: string[] }

/** The Ollama on this machine, or where `OLLAMA_HOST` says; undefined when it does not answer at once. */
export const localOllama = async (
  env: NodeJS.ProcessEnv,
  patienceMs: number,
): Promise<LocalOllama | undefined> => {
  const baseUrl = ollamaUrl(env.OLLAMA_HOST?.trim() || '127.0.0.1', '/api')
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
