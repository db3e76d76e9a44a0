import type { Invocation } from './command.ts'
import { UsageError } from './exit.ts'
import { wholeInput } from './Lines.ts'

/** The prompt: the words on the command line, or else what comes from stdin. */
export const promptOf = async ({ words, stdin }: Invocation, otherwise = ''): Promise<string> => {
  const typed = words.join(' ').trim()
  if (typed !== '' && typed !== '-') return typed
  if (typed === '' && otherwise !== '') return otherwise
  if (typed === '' && stdin.isTTY)
    throw new UsageError('A prompt is needed: write it behind the command, or pipe it in.')
  const piped = await wholeInput(stdin)
  if (piped === '') throw new UsageError('The prompt is empty.')
  return piped
}
