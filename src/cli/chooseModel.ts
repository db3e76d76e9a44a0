import { readModels } from '../../providers/http/httpJson.ts'
import { ollamaUrl } from '../../providers/ollama/index.ts'
import type { ConnectionOptions } from '../../providers/provider.ts'
import { findProvider, listProviders } from '../../providers/registry.ts'
import type { JsonValue } from '../messages/json.ts'
import { formatModelString, parseModelString } from '../model/modelString.ts'
import { type Invocation, textOption } from './command.ts'
import { UsageError } from './outcome.ts'

type ChosenModel = {
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

/** A thing that a provider makes beside answers. */
type Making = 'media' | 'embeddings'

const made: Record<Making, { maker: 'mediaModel' | 'embeddingsModel'; name: string; example: string }> = {
  media: { maker: 'mediaModel', name: 'images', example: '--model openai:gpt-image-2' },
  embeddings: {
    maker: 'embeddingsModel',
    name: 'embeddings',
    example: '--model openai:text-embedding-3-small',
  },
}

/**
 * The model for images or embeddings: the one of `--model`, else that of the provider of `STATEWIRE_MODEL`, else of a
 * provider whose key is set. `STATEWIRE_MODEL` names a model for answers, so only its provider counts.
 */
export const chooseMaker = async (
  invocation: Pick<Invocation, 'values' | 'env'>,
  making: Making,
): Promise<Omit<ChosenModel, 'close'>> => {
  const { env } = invocation
  const server = otherServer(textOption(invocation, 'base-url'), env)
  const typed = textOption(invocation, 'model')
  const { maker, name: things, example } = made[making]
  const ofKey = () =>
    listProviders().find(({ name, keyVariable }) => {
      return keyVariable && env[keyVariable]?.trim() && findProvider(name)[maker]
    })
  const wanted = typed ?? env.STATEWIRE_MODEL?.trim() ?? ofKey()?.name
  if (!wanted) throw new UsageError(`Name a model that makes ${things}, such as ${example}.`)
  const { provider, chat, ...names } = parseModelString(wanted)
  const { name, defaultModel } = findProvider(provider)
  const model = names[making] ?? (typed === undefined ? undefined : chat)
  const full = formatModelString({
    provider: name,
    // A provider without a default model needs one for answers, which nothing is asked of.
    ...(defaultModel === '' && model !== undefined && { chat: model }),
    ...(model !== undefined && { [making]: model }),
  })
  return { model: full, options: server, said: model === undefined ? name : `${name}:${model}` }
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

type LocalOllama = { baseUrl: string; models: string[] }

/** The Ollama on this machine, or where `OLLAMA_HOST` says; undefined when it does not answer at once. */
const localOllama = async (env: NodeJS.ProcessEnv, patienceMs: number): Promise<LocalOllama | undefined> => {
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
