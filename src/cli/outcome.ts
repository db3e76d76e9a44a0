import type { AgentOutput } from '../../machines/agent/events.ts'
import { describeError, type ErrorReport, inFlags } from './describeError.ts'
import { exit } from './exit.ts'
import { printable } from './paint.ts'
import type { Screen } from './Screen.ts'

/** What is left to say when a run has ended. */
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
