import { textFromBase64 } from '../../src/messages/base64.ts'
import { ConfigurationError, describeThrown, ModelError } from '../../src/messages/errors.ts'

/** Credentials of AWS. They sign a request instead of travelling with it. */
export type AwsCredentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string }

/** A key as a provider takes it: a text, or credentials of AWS for `bedrock`. */
export type Key = string | AwsCredentials

/**
 * A key, or a function that gives one. The function is called for every request, and once more where the server answers
 * 401: what it gives may be a token of Entra ID, of Google's ADC or of AWS's STS, renewed by its own library.
 */
export type ApiKey = Key | (() => Key | Promise<Key>)

/** Calls a function for its key. A failure may pass: most of them ask a server. */
export const askForKey = async (give: () => Key | Promise<Key>): Promise<Key> => {
  let given: unknown
  try {
    given = await give()
  } catch (thrown) {
    throw new ModelError(`The apiKey function failed: ${describeThrown(thrown)}`, {
      code: 'api_key_failed',
      retryable: true,
      cause: thrown,
    })
  }
  const key = keyOf(given)
  if (key === undefined) throw new ConfigurationError('The apiKey function did not return a key.')
  return key
}

/** The key as it goes into a header; undefined where no key is given. */
export const keyOf = (given: unknown): Key | undefined => {
  if (given === undefined || given === null) return undefined
  // A key read from a file often ends with a line break, which no header may hold.
  if (typeof given === 'string') return given.trim() || undefined
  if (isAwsCredentials(given)) return given
  throw new ConfigurationError('apiKey must be a string, or a function that returns one.')
}

const isAwsCredentials = (value: unknown): value is AwsCredentials =>
  typeof value === 'object' &&
  value !== null &&
  'accessKeyId' in value &&
  'secretAccessKey' in value &&
  typeof value.accessKeyId === 'string' &&
  typeof value.secretAccessKey === 'string'

/** The parts of a key that must never be shown. */
const secretsIn = (key: Key): string[] =>
  typeof key === 'string' ? [key] : [key.accessKeyId, key.secretAccessKey, key.sessionToken ?? '']

/** Keys from a function change all the time; servers only know those of the last few requests. */
const remembered = 10

/** The parts of a connection that must never be shown. `list` stays the same array, and grows with the keys that are used. */
export class Secrets {
  readonly list: string[] = []
  readonly #fixed: readonly string[]
  #keys: string[][] = []

  constructor(base: URL, headers: Record<string, string>) {
    this.#fixed = [
      ...userinfoSecrets(base),
      ...namedSecrets([...Object.entries(headers), ...base.searchParams]),
    ]
    this.#write()
  }

  add(key: Key): void {
    const secrets = secretsIn(key)
    if (this.#keys.some((known) => known.join() === secrets.join())) return
    this.#keys = [secrets, ...this.#keys].slice(0, remembered)
    this.#write()
  }

  #write(): void {
    this.list.splice(0, Infinity, ...this.#fixed, ...this.#keys.flat())
  }
}

/** Names of headers and of parameters whose value is a credential. */
export const secretName = /key|token|secret|auth|cookie|cred|pass|pwd|sig|session|jwt|bearer|^code$/i

const namedSecrets = (fields: readonly [string, string][]): string[] =>
  fields
    .filter(([name]) => secretName.test(name))
    .flatMap(([, value]) => {
      // The value as a whole and without its scheme: servers echo either.
      const bare = value.slice(value.lastIndexOf(' ') + 1)
      return [value, bare, ...(/^basic /i.test(value) ? passwordIn(bare) : [])]
    })

/** A name without a password is a secret: some gateways take the key there. */
const userinfoSecrets = ({ username, password }: URL): string[] => {
  if (username === '' && password === '') return []
  const [name, word] = [decoded(username), decoded(password)]
  return word === '' ? [name, `${name}:`] : [word, `${name}:${word}`]
}

const passwordIn = (pair: string): string[] => {
  const [name = '', ...password] = textFromBase64(pair).split(':')
  return [password.join(':') || name]
}

export const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
