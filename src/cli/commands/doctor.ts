import type { ProviderInfo } from '../../../providers/provider.ts'
import { findProvider, listModels, listProviders } from '../../../providers/registry.ts'
import { errorDataOf } from '../../messages/errors.ts'
import { exchange } from '../../transport/exchange.ts'
import type { Command, Invocation } from '../command.ts'
import { exit } from '../outcome.ts'
import type { Paint } from '../terminalText.ts'
import { table } from '../terminalText.ts'

export const doctor: Command = {
  name: 'doctor',
  summary: 'Checks which providers you can use from here',
  operands: '[provider…]',
  options: {},
  details: [
    'Asks every provider at once: is a key set, does the server answer, does it',
    'accept the key. A key is sent to its own provider only, and never shown. The',
    'exit code is 0 if you can use at least one provider.',
  ],
  run: async ({ words, screen, env }: Invocation) => {
    const { paint } = screen
    const found = await checkProviders(words, env)
    const rows = found.map(({ name, isUsable, key, server, hint }) => [
      markOf(isUsable, paint),
      paint.bold(name),
      key,
      server,
      paint.dim(hint),
    ])
    for (const row of table([nodeRow(paint), ...rows])) screen.line(row)
    screen.line()
    screen.line(conclusion(found, paint))
    return found.some(({ isUsable }) => isUsable) ? exit.complete : exit.failed
  },
}

const nodeRow = (paint: Paint): string[] => {
  const { isGood, hint } = checkNode(process.versions.node)
  return [
    isGood ? paint.green('✓') : paint.red('✗'),
    paint.bold('node'),
    process.versions.node,
    '',
    paint.dim(hint),
  ]
}

const markOf = (isUsable: boolean, paint: Paint): string => (isUsable ? paint.green('✓') : paint.dim('–'))

const conclusion = (found: readonly Health[], paint: Paint): string => {
  const usable = found.filter(({ isUsable }) => isUsable).map(({ name }) => name)
  if (usable.length > 0) return `Ready: ${paint.green(usable.join(', '))}.`
  const isOffline = found.every(({ server }) => server === 'not reachable')
  const network = isOffline ? 'Nothing answers: is there a network?\n' : ''
  return `${network}No provider can be used yet. Set one of the keys, or start Ollama; until then the\nbuilt-in simulator answers.`
}

const patience = 6000

/** The state of a provider as seen from this machine. Never holds a key. */
type Health = { name: string; isUsable: boolean; key: string; server: string; hint: string }

type Answer = Pick<Health, 'isUsable' | 'server' | 'hint'>

export const checkNode = (version: string): { isGood: boolean; hint: string } => {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const isGood = major > 20 || (major === 20 && (minor > 18 || (minor === 18 && patch >= 1)))
  return { isGood, hint: isGood ? '' : 'statewire needs Node 20.18.1 or newer' }
}

/** Asks the providers named, or all, at the same time. */
export const checkProviders = (names: readonly string[], env: NodeJS.ProcessEnv): Promise<Health[]> => {
  const wanted: ProviderInfo[] = names.length > 0 ? names.map((name) => findProvider(name)) : listProviders()
  return Promise.all(wanted.map((provider) => check(provider, env)))
}

const check = async (provider: ProviderInfo, env: NodeJS.ProcessEnv): Promise<Health> => {
  const { name, keyVariable } = provider
  const isKeySet = keyVariable !== undefined && Boolean(env[keyVariable]?.trim())
  const key = keyVariable === undefined ? 'no key needed' : `${keyVariable} is ${isKeySet ? '' : 'not '}set`
  const answer = keyVariable === undefined || isKeySet ? tryOut(provider) : knock(provider)
  return { name, key, ...(await answer) }
}

/** Checks that the server of a provider without a key answers. */
const knock = async ({ keyVariable, baseUrl, serverVariables }: ProviderInfo): Promise<Answer> => {
  if (baseUrl.includes('{')) {
    const missing = [...serverVariables, keyVariable].join(' and ')
    return { isUsable: false, server: 'not known', hint: `set ${missing} to use it` }
  }
  return (await reaches(baseUrl))
    ? { isUsable: false, server: 'reachable', hint: `set ${keyVariable} to use it` }
    : { isUsable: false, server: 'not reachable', hint: '' }
}

/** Commands that start local servers and give them a model. */
const local: Record<string, { start: string; fill: string }> = {
  ollama: { start: 'start it: ollama serve', fill: 'pull one: ollama pull qwen3:8b' },
  'ollama-openai': { start: 'start it: ollama serve', fill: 'pull one: ollama pull qwen3:8b' },
  lmstudio: { start: 'start it: lms server start', fill: 'load one: lms get' },
  vllm: { start: 'start it: vllm serve <model>', fill: '' },
}

/** Lists the models: the cheapest request that needs a key. */
const tryOut = async ({ name, keyVariable, capabilities }: ProviderInfo): Promise<Answer> => {
  if (!capabilities.includes('listModels')) return { isUsable: true, server: 'cannot be asked', hint: '' }
  try {
    const models = await listModels(name, { signal: AbortSignal.timeout(patience) })
    if (models.length > 0 || keyVariable !== undefined) {
      return { isUsable: true, server: `answers, ${models.length} models`, hint: '' }
    }
    return { isUsable: false, server: 'answers, no model', hint: local[name]?.fill ?? '' }
  } catch (error) {
    return { isUsable: false, ...troubleOf(errorDataOf(error), name, keyVariable) }
  }
}

const troubleOf = (
  { name: kind, status, message, code }: ReturnType<typeof errorDataOf>,
  name: string,
  keyVariable: string | undefined,
): Pick<Answer, 'server' | 'hint'> => {
  if (kind === 'ConfigurationError') return { server: 'not known', hint: message }
  if (status === 401 || status === 403) {
    return { server: `refuses the key (${status})`, hint: `check ${keyVariable}` }
  }
  if (status !== undefined) return { server: `answers with ${status}`, hint: '' }
  const isBroken = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'
  return isBroken
    ? { server: 'breaks off', hint: '' }
    : { server: 'not reachable', hint: local[name]?.start ?? '' }
}

/** Resolves with true if the server answers at all. */
const reaches = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const settle = (isThere: boolean): void => {
      clearTimeout(timer)
      close()
      resolve(isThere)
    }
    const timer = setTimeout(() => settle(false), patience)
    const close = exchange(
      { method: 'GET', url: new URL(url), headers: {} },
      {},
      {
        head: () => settle(true),
        data: () => {},
        readDone: () => {},
        end: () => settle(true),
        fail: () => settle(false),
      },
    )
  })
