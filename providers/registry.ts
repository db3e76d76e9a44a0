import { ConfigurationError } from '../src/messages/errors.ts'
import { partFlaw } from '../src/messages/messageFlaw.ts'
import type { DataPart, LinkPart } from '../src/messages/messages.ts'
import { nearest } from '../src/messages/optionNames.ts'
import { checkOptions, checkSome } from '../src/messages/optionRules.ts'
import { parseModelString } from '../src/model/modelString.ts'
import { misplacedRules } from './http/connectionOf.ts'
import { requestRules } from './http/connectionRules.ts'
import { modelTables } from './models/index.ts'
import { knownModel, type ModelTable } from './models/modelFacts.ts'
import { openWeightModels } from './models/openWeights.ts'
import { type FindProvider, providerNamed, registered, useRegistry } from './namedProviders.ts'
import { presets } from './presets.ts'
import type { ConnectionOptions, ModelInfo, Provider, ProviderInfo, RequestOptions } from './provider.ts'

/**
 * All providers that can be named: their capabilities, and the environment variable of each key.
 *
 * @example listProviders().filter(({ capabilities }) => capabilities.includes('embeddings'))
 */
export const listProviders = (): ProviderInfo[] =>
  allProviders().map(
    ({ chatModel: _, embeddingsModel: __, listModels: ___, mediaModel: ____, uploadFile: _____, ...info }) =>
      info,
  )

/**
 * The models a provider offers right now, asked from its API.
 *
 * @example const models = await listModels('openai')
 */
export const listModels = async (
  provider: string,
  options: ConnectionOptions & RequestOptions = {},
): Promise<ModelInfo[]> => {
  checkRequest('The options of listModels', options)
  const { name, listModels } = findProvider(provider)
  if (!listModels) throw new ConfigurationError(`${name} has no list of models.`)
  return listModels(options)
}

/**
 * Uploads a file to the provider of a model. The part that it returns goes into messages to that provider instead of the
 * bytes, as often as you like.
 *
 * @example
 * const report = await uploadFile('anthropic', dataPart('application/pdf', bytes, 'report.pdf'))
 * await agent.send('Summarise it', { attachments: [report] })
 */
export const uploadFile = async (
  model: string,
  file: DataPart,
  options: ConnectionOptions & RequestOptions = {},
): Promise<LinkPart> => {
  const { name, uploadFile } = findProvider(parseModelString(model).provider)
  checkRequest('The options of uploadFile', options)
  if (!uploadFile) throw new ConfigurationError(`${name} keeps no files: attach the bytes themselves.`)
  if (partFlaw(file) !== undefined || file.type !== 'data') {
    throw new ConfigurationError('uploadFile takes a file with its bytes: dataPart(mimeType, bytes, name).')
  }
  return uploadFile(file, options)
}

const checkRequest = (what: string, options: object): void => {
  checkSome(what, options, misplacedRules)
  checkOptions(what, options, requestRules)
}

/** Finds a provider by name or alias, in upper or lower case. `model`: what follows it in a model string, for the advice. */
export const findProvider: FindProvider = (name, model) => {
  const found = providerNamed(name, allProviders())
  if (found) return found
  throw new ConfigurationError(`There is no provider "${name.slice(0, 100)}". ${adviceOn(name, model)}`)
}

/** Advice on a provider that does not exist: it may be the name of a model, or misspelled. */
const adviceOn = (name: string, model: string | undefined): string => {
  const [prefix = '', ...rest] = name.split('.')
  const isDotted =
    model === undefined && rest.length > 0 && providerNamed(prefix, allProviders()) !== undefined
  if (isDotted) return `Write "${prefix}:${rest.join('.')}".`
  const owner = model === undefined ? ownerOf(name) : undefined
  if (owner !== undefined) return `Write "${owner}:${name}".`
  // A model of open weights with its size, as Ollama names it.
  if (knownModel(openWeightModels, name))
    return `Write "ollama:${model === undefined ? name : `${name}:${model}`}", or another provider of such models.`
  const names = allProviders().flatMap((each) => [each.name, ...each.aliases])
  const meant = nearest(name, names, 2)
  const maker = model === undefined || meant !== undefined ? undefined : ownerOf(model)
  if (maker !== undefined) return `Write "${maker}:${model}".`
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

/** Loads the registry: model strings name every provider from now on. */
export const loadRegistry = (): void => useRegistry(findProvider)
