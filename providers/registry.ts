import { ConfigurationError } from '../src/messages/errors.ts'
import { nearest } from '../src/messages/optionNames.ts'
import type { ChatModel } from '../src/model/chatModel.ts'
import { modelTables } from './models/index.ts'
import { knownModel, type ModelTable } from './models/modelFacts.ts'
import { openWeightModels } from './models/openWeights.ts'
import { presets } from './presets.ts'
import type { ConnectionOptions, ModelInfo, Provider, ProviderInfo, RequestOptions } from './provider.ts'

/** Makes a chat model of a custom provider; without a model name, of its default model. */
export type ProviderFactory = (model: string | undefined, options: ConnectionOptions) => ChatModel

const registered = new Map<string, Provider>()

/**
 * Adds a provider under a name, or replaces one. Give a whole provider (see `defineProvider`), or just a function that
 * makes its chat models.
 *
 * @example registerProvider('mine', (model = 'default', options) => myChatModel(model, options))
 */
export const registerProvider = (name: string, provider: Provider | ProviderFactory): void => {
  if (!/^[\w.-]+$/.test(name)) {
    throw new ConfigurationError(`"${name}" cannot be a provider's name: use letters, digits, - _ and dots.`)
  }
  registered.set(
    name.toLowerCase(),
    typeof provider === 'function' ? fromFactory(name, provider) : { ...provider, name },
  )
}

const fromFactory = (name: string, chatModel: ProviderFactory): Provider => ({
  name,
  aliases: [],
  keyVariable: undefined,
  baseUrl: '',
  serverVariables: [],
  defaultModel: '',
  defaultEmbeddingsModel: undefined,
  capabilities: ['chat'],
  chatModel,
})

/**
 * All providers that can be named: their capabilities, and the environment variable of each key.
 *
 * @example listProviders().filter(({ capabilities }) => capabilities.includes('embeddings'))
 */
export const listProviders = (): ProviderInfo[] =>
  allProviders().map(({ chatModel: _, embeddingsModel: __, listModels: ___, ...info }) => info)

/**
 * The models a provider offers right now, asked from its API.
 *
 * @example const models = await listModels('openai')
 */
export const listModels = async (
  provider: string,
  options: ConnectionOptions & RequestOptions = {},
): Promise<ModelInfo[]> => {
  const { name, listModels } = findProvider(provider)
  if (!listModels) throw new ConfigurationError(`${name} has no list of models.`)
  return listModels(options)
}

/** Finds a provider by name or alias, in upper or lower case. `model`: what follows it in a model string, for the advice. */
export const findProvider = (name: string, model?: string): Provider => {
  const wanted = name.toLowerCase()
  const found = allProviders().find(
    (each) => each.name.toLowerCase() === wanted || each.aliases.includes(wanted),
  )
  if (found) return found
  throw new ConfigurationError(`There is no provider "${name.slice(0, 100)}". ${adviceOn(name, model)}`)
}

/** Advice on a provider that does not exist: it may be the name of a model, or misspelled. */
const adviceOn = (name: string, model: string | undefined): string => {
  const owner = model === undefined ? ownerOf(name) : undefined
  if (owner !== undefined) return `Write "${owner}:${name}".`
  // A model of open weights with its size, as Ollama names it.
  if (knownModel(openWeightModels, name))
    return `Write "ollama:${model === undefined ? name : `${name}:${model}`}", or another provider of such models.`
  const names = allProviders().flatMap((each) => [each.name, ...each.aliases])
  const meant = nearest(name, names, 2)
  const guess = meant && `Did you mean "${model === undefined ? meant : `${meant}:${model}`}"? `
  return `${guess ?? ''}Known providers: ${allProviders()
    .map((each) => each.name)
    .join(', ')}.`
}

/** The provider whose models have such names: by its table, or by the word that its names begin with. */
const ownerOf = (model: string): string | undefined => {
  const vendors = modelTables.filter(({ provider }) => vendorsOfModels.includes(provider))
  const wordOf = (name: string) => /^[a-z]+/i.exec(name)?.[0].toLowerCase()
  const hasWord = ({ rows }: ModelTable) =>
    rows.some(({ names }) => names.some((each) => wordOf(each) === wordOf(model)))
  const owner = vendors.find((table) => knownModel(table, model)) ?? vendors.find(hasWord)
  return owner?.provider
}

/** Vendors of their own models: a model of open weights has many hosts. */
const vendorsOfModels = ['openai', 'anthropic', 'google', 'mistral', 'cohere', 'deepseek', 'xai']

const allProviders = (): Provider[] => [
  ...registered.values(),
  ...presets.filter(({ name }) => !registered.has(name)),
]
