import type { AgentOutput } from '../../machines/agent/events.ts'
import { listProviders } from '../../providers/registry.ts'
import { type ErrorData, errorDataOf } from '../messages/errors.ts'
import type { Screen } from './Screen.ts'
import { printable } from './terminalText.ts'

/** The exit codes of every command. */
export const exit = { complete: 0, failed: 1, usage: 2, aborted: 130 } as const

/** A command line that was not understood, or that names something that does not exist. */
export class UsageError extends Error {}

/** A failure for the reader: its message, a hint at what to do, and the exit code. */
type ErrorReport = { message: string; hint: string; code: number }

export const reportOf = (thrown: unknown): ErrorReport => {
  if (thrown instanceof UsageError) return { message: thrown.message, hint: '', code: exit.usage }
  return describeError(inFlags(errorDataOf(thrown)))
}

/** Phrases of the library about its options, and the options of the command line that they mean. */
const flags: readonly [RegExp, string][] = [
  [/^baseUrl must be/, '--base-url must be'],
  [/(missing from|the model and) baseUrl\b/, '$1 --base-url'],
  [/, or pass apiKey\b.*/, ', or choose another model with --model.'],
  [/No key was sent: pass apiKey\./, 'No key was sent: set STATEWIRE_API_KEY.'],
  [/\bdatabaseUrl\b/, '--db'],
  [/Set thinking: false, or use/, 'Leave --thinking out, or use'],
]

/** The error of a run of this command, in terms of its own options. */
const inFlags = (error: ErrorData): ErrorData => ({
  ...error,
  message: flags.reduce((text, [api, flag]) => text.replace(api, flag), error.message),
})

export const describeError = (error: ErrorData): ErrorReport => {
  if (error.name === 'AbortedError') return { message: 'aborted', hint: '', code: exit.aborted }
  const code = error.name === 'ConfigurationError' ? exit.usage : exit.failed
  // The message of an HTTP error names its place.
  if (error.message.includes(`(${error.provider}:`))
    return { message: error.message, hint: hintFor(error), code }
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

/** Shows why a run ended, unless it is complete. */
export const showEnd = (output: AgentOutput, screen: Screen): void => {
  screen.endLine()
  if (output.status === 'failed') showError(describeError(inFlags(output.error)), screen)
  if (output.status === 'aborted') screen.note(screen.notePaint.yellow('aborted'))
}

export const exitCodeOf = (output: AgentOutput): number => {
  if (output.status === 'failed') return describeError(output.error).code
  return output.status === 'aborted' ? exit.aborted : exit.complete
}

export const showError = ({ message, hint }: ErrorReport, screen: Screen): void => {
  screen.endLine()
  screen.note(`${screen.notePaint.red('statewire:')} ${printable(message)}`)
  if (hint !== '') screen.note(screen.notePaint.dim(hint))
}

/** Makes the first Ctrl-C call `end`, and the second one exit. Returns a function that restores Ctrl-C. */
export const onInterrupt = (end: () => void): (() => void) => {
  let count = 0
  const interrupt = () => {
    count++
    if (count > 1) process.exit(exit.aborted)
    end()
  }
  process.on('SIGINT', interrupt)
  return () => process.off('SIGINT', interrupt)
}
