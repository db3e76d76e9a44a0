import { readModels } from '../../providers/http/httpJson.ts'
import { ollamaUrl } from '../../providers/ollama/index.ts'
import type { ConnectionOptions } from '../../providers/provider.ts'
import { findProvider, listProviders } from '../../providers/registry.ts'
import type { JsonValue } from '../messages/json.ts'
import { formatModelString, parseModelString } from '../model/modelString.ts'
import { type Invocation, textOption } from './command.ts'

export type ChosenModel = {
  model: string
  options: Pick<ConnectionOptions, 'baseUrl' | 'apiKey'>
  /** Names the model and gives the reason, in one line. */
  said: string
  close: () => Promise<void>
}

/** Takes `--model`, else `STATEWIRE_MODEL`, else a provider whose key is set, else a local Ollama, else the simulator. */
export const chooseModel = async (
  invocation: Pick<Invocation, 'values' | 'env'>,
  ollamaPatienceMs = 300,
): Promise<ChosenModel> => {
  const { env } = invocation
  const model = textOption(invocation, 'model')
  const baseUrl = textOption(invocation, 'base-url')
  const server = otherServer(baseUrl, env)
  if (model) return wished(model, server, '--model')
  if (env.STATEWIRE_MODEL) return wished(env.STATEWIRE_MODEL, server, 'STATEWIRE_MODEL')
  if (baseUrl !== undefined) return wished('openai', server, '--base-url')
  const provider = listProviders().find(
    ({ keyVariable, defaultModel }) => defaultModel !== '' && keyVariable && env[keyVariable]?.trim(),
  )
  if (provider)
    return remote(`${provider.name}:${provider.defaultModel}`, {}, `${provider.keyVariable} is set`)
  const ollama = await localOllama(env, ollamaPatienceMs)
  const [first] = ollama?.models ?? []
  if (ollama && first !== undefined)
    return remote(`ollama:${first}`, { baseUrl: ollama.baseUrl }, 'a local Ollama answers')
  return simulated('no key is set, no Ollama answers')
}

/** The server of `--base-url` with its own key: the key of a provider only goes to that provider's hosts. */
export const otherServer = (baseUrl: string | undefined, env: NodeJS.ProcessEnv): ChosenModel['options'] => {
  const apiKey = env.STATEWIRE_API_KEY?.trim()
  return baseUrl === undefined ? {} : { baseUrl, ...(apiKey && { apiKey }) }
}

const wished = async (
  model: string,
  server: ChosenModel['options'],
  reason: string,
): Promise<ChosenModel> => {
  if (model.trim().toLowerCase() === 'simulator') return simulated(reason)
  const { provider, ...names } = parseModelString(model)
  const { name, defaultModel } = findProvider(provider, names.chat)
  const full = formatModelString({
    provider: name,
    ...(defaultModel !== '' && { chat: defaultModel }),
    ...names,
  })
  return remote(full, server, reason)
}

const remote = (model: string, options: ChosenModel['options'], reason: string): ChosenModel => ({
  model,
  options,
  said: `${model} (${reason})`,
  close: async () => {},
})

const simulated = async (reason: string): Promise<ChosenModel> => {
  const { startSimulator } = await import('../simulator/index.ts')
  const { baseUrl, close } = await startSimulator()
  const said = `the built-in simulator, which answers by rules (${reason})`
  // Its own key: that of OpenAI must not go anywhere else.
  return { model: 'openai:simulator', options: { baseUrl, apiKey: 'simulator' }, said, close }
}

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
    // An embeddings model cannot answer.
    return { baseUrl, models: models.filter((id) => !/embed|bge-|minilm/i.test(id)) }
  } catch {
    return undefined
  }
}
