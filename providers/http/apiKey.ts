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

/** The key as it goes into a header; undefined where there is none. */
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

/** What of a key must never be shown. */
export const secretsIn = (key: Key): string[] =>
  typeof key === 'string' ? [key] : [key.accessKeyId, key.secretAccessKey, key.sessionToken ?? '']
