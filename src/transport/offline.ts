import { ConfigurationError } from '../messages/errors.ts'
import { checkOptions, rule } from '../messages/optionRules.ts'

/** The variable that forbids requests: `1`, or the origins that are still allowed, separated by commas. */
const offlineVariable = 'STATEWIRE_OFFLINE'

/** The error of a request to a URL if requests are forbidden. */
export const refusalOf = (url: URL): ConfigurationError | undefined => {
  const setting = (typeof process === 'undefined' ? undefined : process.env[offlineVariable])?.trim() ?? ''
  if (['', '0', 'false'].includes(setting) || setting.split(',').includes(url.origin)) return undefined
  return new ConfigurationError(
    `A request to ${url.origin} was refused, because ${offlineVariable} is set or a test called blockRequests(): ` +
      'give the agent scriptedModel(…), a cassette as connection.fetch, or a MockAgent of undici.',
  )
}

/** The dispatchers of undici that answer by themselves, and decide by themselves what may go to the network. */
const mocks = new Set(['MockAgent', 'MockPool', 'MockClient', 'SnapshotAgent'])

export const isMock = (dispatcher: object | undefined): boolean =>
  dispatcher !== undefined && mocks.has(dispatcher.constructor.name)

/**
 * The `fetch` of this process if a test has put a double in its place: a spy, which keeps its calls in `mock` (Vitest, Jest,
 * `node:test`), or that of msw and nock, whose library names itself. Others that wrap `fetch`, such as Next, are not meant.
 */
export const mockFetch = (): typeof fetch | undefined => {
  const { fetch } = globalThis
  if (typeof fetch !== 'function') return undefined
  // Read, because the spies of Node answer only when they are asked for it.
  const isMock = Reflect.get(fetch, 'mock') !== undefined || interceptor in globalThis
  return isMock ? fetch : undefined
}

const interceptor = Symbol.for('fetch-interceptor')

/** Options of {@link blockRequests}. */
export type BlockOptions = {
  /** The servers that may still be asked, by their URLs: a simulator, for example. Default: none. */
  allow?: readonly string[]
}

const urls = rule(
  'a list of URLs',
  (value) => Array.isArray(value) && value.every((each) => typeof each === 'string' && URL.canParse(each)),
)

/**
 * Refuses every request to a model that neither a cassette nor a mock answers, so that no test can cost money. It sets
 * `STATEWIRE_OFFLINE`, so processes that are started later are blocked as well. Returns a function that undoes it.
 *
 * @example
 * beforeAll(() => blockRequests()) // Vitest calls the function that is returned afterwards
 */
export const blockRequests = (options: BlockOptions = {}): (() => void) => {
  checkOptions('The options of blockRequests', options, { allow: urls })
  const before = process.env[offlineVariable]
  const allowed = (options.allow ?? []).map((url) => new URL(url).origin)
  process.env[offlineVariable] = allowed.length > 0 ? allowed.join(',') : '1'
  return () => {
    if (before === undefined) delete process.env[offlineVariable]
    else process.env[offlineVariable] = before
  }
}
