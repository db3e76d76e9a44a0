import type { ProviderInfo } from '../../providers/provider.ts'
import { findProvider, listModels, listProviders } from '../../providers/registry.ts'
import { errorDataOf } from '../messages/errors.ts'
import { ollamaUrls } from './localOllama.ts'

const patience = 6000

/** What is known of a provider from here. Never holds a key. */
export type Health = { name: string; isUsable: boolean; key: string; server: string; hint: string }

export const checkNode = (version: string): { isGood: boolean; hint: string } => {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const isGood = major > 20 || (major === 20 && (minor > 18 || (minor === 18 && patch >= 1)))
  return { isGood, hint: isGood ? '' : 'statewire needs Node 20.18.1 or newer' }
}

/** Asks the providers named, or all, at the same time. */
export const checkProviders = (names: readonly string[], env: NodeJS.ProcessEnv): Promise<Health[]> => {
  const wanted: ProviderInfo[] = names.length > 0 ? names.map(findProvider) : listProviders()
  return Promise.all(wanted.map((provider) => check(provider, env)))
}

const check = async (
  { name, keyVariable, baseUrl }: ProviderInfo,
  env: NodeJS.ProcessEnv,
): Promise<Health> => {
  const isKeySet = keyVariable !== undefined && Boolean(env[keyVariable]?.trim())
  const key = keyVariable === undefined ? 'no key needed' : `${keyVariable} is ${isKeySet ? '' : 'not '}set`
  const place = ollamaUrls(env).get(name) ?? baseUrl
  if (!(await reaches(place))) {
    const hint = name.startsWith('ollama') ? 'start it: ollama serve' : ''
    return { name, key, isUsable: false, server: 'not reachable', hint }
  }
  if (keyVariable !== undefined && !isKeySet) {
    return { name, key, isUsable: false, server: 'reachable', hint: `set ${keyVariable} to use it` }
  }
  return { name, key, ...(await tryOut(name, keyVariable, place === baseUrl ? undefined : place)) }
}

/** Lists the models: the cheapest question that a key is needed for. */
const tryOut = async (
  name: string,
  keyVariable: string | undefined,
  baseUrl: string | undefined,
): Promise<Pick<Health, 'isUsable' | 'server' | 'hint'>> => {
  try {
    const models = await listModels(name, {
      signal: AbortSignal.timeout(patience),
      ...(baseUrl !== undefined && { baseUrl }),
    })
    if (models.length > 0 || keyVariable !== undefined) {
      return { isUsable: true, server: `answers, ${models.length} models`, hint: '' }
    }
    return { isUsable: false, server: 'answers, no model', hint: 'pull one: ollama pull qwen3:8b' }
  } catch (error) {
    const { status } = errorDataOf(error)
    if (status === 401 || status === 403) {
      return { isUsable: false, server: `refuses the key (${status})`, hint: `check ${keyVariable}` }
    }
    const server = status === undefined ? 'breaks off' : `answers with ${status}`
    return { isUsable: false, server, hint: '' }
  }
}

/** Any answer at all will do. */
const reaches = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(patience),
    })
    await response.body?.cancel()
    return true
  } catch {
    return false
  }
}
