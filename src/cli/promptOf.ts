import type { Invocation } from './command.ts'
import { UsageError } from './exit.ts'
import { pipedText } from './pipedText.ts'

/**
 * The prompt: the words on the command line, and below them what is piped in. A dash at the end waits for that without
 * a limit.
 */
export const promptOf = async (invocation: Invocation, otherwise = ''): Promise<string> => {
  const { words, stdin } = invocation
  const hasDash = words.at(-1) === '-'
  const typed = (hasDash ? words.slice(0, -1) : words).join(' ').trim()
  if (typed === '' && !hasDash) {
    if (otherwise !== '') return otherwise
    if (stdin.isTTY) throw new UsageError('A prompt is needed: write it after the command, or pipe it in.')
  }
  const piped = hasDash || typed === '' ? await pipedText(stdin) : await pipedBeside(invocation)
  const prompt = [typed, piped].filter((text) => text !== '').join('\n\n')
  if (prompt === '') throw new UsageError('The prompt is empty.')
  return prompt
}

/** Programs that start this one often leave an empty pipe open. */
const patienceMs = 3000

const pipedBeside = async ({ stdin, screen }: Invocation): Promise<string> => {
  if (stdin.isTTY) return ''
  const piped = await pipedText(stdin, patienceMs)
  if (piped !== undefined) return piped
  screen.note(
    screen.notePaint.dim(
      'Nothing came from stdin within 3 s: continuing without it. A - at the end waits for it.',
    ),
  )
  return ''
}
