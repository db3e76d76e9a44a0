import { textFromBase64 } from '../../src/messages/base64.ts'
import { type Key, secretsIn } from './apiKey.ts'

/** Keys from a function change all the time; servers only know those of the last few requests. */
const remembered = 10

/** What must never be shown of a connection. The list is the same one for ever, and grows with the keys that are used. */
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
