import type { Provider } from './provider.ts'

/** A provider with models of several protocols: the name of a model decides who answers; undefined stays with the first. */
export const routed = (first: Provider, other: (model: string) => Provider | undefined): Provider => ({
  ...first,
  chatModel: (model = first.defaultModel, options) => (other(model) ?? first).chatModel(model, options),
})
