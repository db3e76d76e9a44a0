import type { ConnectionOptions } from '../../providers/provider.ts'
import { findProvider, listProviders } from '../../providers/registry.ts'
import { formatModelString, parseModelString } from '../modelString.ts'
import { type Invocation, textOption } from './command.ts'
import { localOllama, ollamaUrl } from './localOllama.ts'

export type ChosenModel = {
  /** For `new Agent`. */
  model: string
  options: Pick<ConnectionOptions, 'baseUrl'>
  /** Which model, and why: one line. */
  said: string
  close: () => Promise<void>
}

/** `--model`, else `STATEWIRE_MODEL`, else a provider whose key is set, else a local Ollama, else the simulator. */
export const chooseModel = async (invocation: Pick<Invocation, 'values' | 'env'>): Promise<ChosenModel> => {
  const { env } = invocation
  const model = textOption(invocation, 'model')
  const baseUrl = textOption(invocation, 'base-url')
  if (model) return wished(model, baseUrl, '--model', env)
  if (env.STATEWIRE_MODEL) return wished(env.STATEWIRE_MODEL, baseUrl, 'STATEWIRE_MODEL', env)
  if (baseUrl !== undefined) return wished('openai', baseUrl, '--base-url', env)
  const provider = listProviders().find(({ keyVariable }) => keyVariable && env[keyVariable]?.trim())
  if (provider)
    return remote(`${provider.name}:${provider.defaultModel}`, undefined, `${provider.keyVariable} is set`)
  const ollama = await localOllama(env)
  const [first] = ollama?.models ?? []
  if (ollama && first !== undefined)
    return remote(`ollama:${first}`, ollama.baseUrl, 'a local Ollama answers')
  return simulated('no key is set, no Ollama answers')
}

const wished = async (
  model: string,
  baseUrl: string | undefined,
  reason: string,
  env: NodeJS.ProcessEnv,
): Promise<ChosenModel> => {
  if (model.trim().toLowerCase() === 'simulator') return simulated(reason)
  const { provider, ...names } = parseModelString(model)
  const { name, defaultModel } = findProvider(provider)
  const full = formatModelString({ provider: name, chat: defaultModel, ...names })
  const ownOllama = name === 'ollama' && env.OLLAMA_HOST ? ollamaUrl(env) : undefined
  return remote(full, baseUrl ?? ownOllama, reason)
}

const remote = (model: string, baseUrl: string | undefined, reason: string): ChosenModel => ({
  model,
  options: baseUrl === undefined ? {} : { baseUrl },
  said: `${model} (${reason})`,
  close: async () => {},
})

const simulated = async (reason: string): Promise<ChosenModel> => {
  const { startSimulator } = await import('../simulator/index.ts')
  const { baseUrl, close } = await startSimulator()
  const said = `the built-in simulator, which answers by rules (${reason})`
  return { model: 'openai:simulator', options: { baseUrl }, said, close }
}
