import { ConfigurationError } from '../src/messages/errors.ts'
import type { ModelMaker } from './chatModels.ts'
import type { Provider } from './provider.ts'

/** Makes a chat model of a custom provider; without a model name, of its default model. */
type ProviderFactory = ModelMaker

/** The providers that this program added, by name. */
export const registered = new Map<string, Provider>()

/** Finds a provider by name. `model`: what follows it in a model string, for the advice where there is no such provider. */
export type FindProvider = (name: string, model?: string) => Provider

const registry: { find?: FindProvider } = {}

/** Lets model strings name every provider. */
export const useRegistry = (find: FindProvider): void => {
  registry.find = find
}

/**
 * Adds a provider under a name, or replaces one. Give a whole provider (see `defineProvider`), or just a function that
 * makes its chat models, such as the value of a provider.
 *
 * @example registerProvider('mine', (model = 'default', options) => myChatModel(model, options))
 */
export const registerProvider = (name: string, provider: Provider | ProviderFactory): void => {
  if (
    typeof name !== 'string' ||
    (typeof provider !== 'function' && typeof Object(provider).chatModel !== 'function')
  )
    throw new ConfigurationError(
      "registerProvider takes a name and a provider: write registerProvider('mine', defineProvider({ … })), or a function that returns a chat model.",
    )
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

/** Finds a provider by name or alias, in upper or lower case, among these. */
export const providerNamed = (name: string, among: Iterable<Provider>): Provider | undefined => {
  const wanted = name.toLowerCase()
  return [...among].find((each) => each.name.toLowerCase() === wanted || each.aliases.includes(wanted))
}

/** Finds the provider of a model string: one that was added, or one of the registry, where that is loaded. */
export const findProvider: FindProvider = (name, model) => {
  if (registry.find) return registry.find(name, model)
  const found = providerNamed(name, registered.values())
  if (found) return found
  throw new ConfigurationError(
    `There is no provider "${name.slice(0, 100)}" in this bundle. Import the provider itself: openai('gpt-6-luna') of ` +
      "statewire/providers/openai. For strings that name any provider, import 'statewire/registry', which has them all.",
  )
}
