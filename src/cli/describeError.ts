import { listProviders } from '../../providers/registry.ts'
import { type ErrorData, errorDataOf } from '../messages/errors.ts'
import { exit, UsageError } from './exit.ts'

/** What went wrong, what to do about it, and the exit code. */
export type ErrorReport = { message: string; hint: string; code: number }

export const reportOf = (thrown: unknown): ErrorReport => {
  if (thrown instanceof UsageError) return { message: thrown.message, hint: '', code: exit.usage }
  return describeError(inFlags(errorDataOf(thrown)))
}

/** The library's words for its options, as options of the command line. */
const flags: readonly [RegExp, string][] = [
  [/^baseUrl must be/, '--base-url must be'],
  [/, or pass apiKey\b.*/, ', or choose another model with --model.'],
  [/No key was sent: pass apiKey\./, 'No key was sent: set STATEWIRE_API_KEY.'],
  [/Set thinking: false, or use/, 'Leave --thinking out, or use'],
]

/** The error of a run of this command, in terms of its own options. */
export const inFlags = (error: ErrorData): ErrorData => ({
  ...error,
  message: flags.reduce((text, [api, flag]) => text.replace(api, flag), error.message),
})

export const describeError = (error: ErrorData): ErrorReport => {
  if (error.name === 'AbortedError') return { message: 'aborted', hint: '', code: exit.aborted }
  const code = error.name === 'ConfigurationError' ? exit.usage : exit.failed
  const status = error.status === undefined ? '' : ` (${error.status})`
  const from = error.provider === undefined ? '' : `${error.provider}: `
  return { message: `${from}${error.message}${status}`, hint: hintFor(error), code }
}

const hintFor = ({ status, provider, cause, code, message }: ErrorData): string => {
  // The error of a stored run may name a provider of another program.
  const known = listProviders().find(({ name }) => name === provider)
  if (!known) return ''
  const { keyVariable, name } = known
  if (status === 401 || status === 403) {
    if (message.includes('No key was sent')) return ''
    return keyVariable ? `Check the key in ${keyVariable}.` : 'The server wants a key.'
  }
  if (status === 404) return `To list the models of ${name}: statewire models ${name}`
  if (status !== undefined) return ''
  const isUnreachable = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT/.test(
    `${cause?.code ?? ''} ${code ?? ''}`,
  )
  if (!isUnreachable) return ''
  return name.startsWith('ollama')
    ? 'Is Ollama running? Start it with: ollama serve'
    : 'It cannot be reached; statewire doctor shows which providers can.'
}
