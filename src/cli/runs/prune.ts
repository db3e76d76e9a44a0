import { type Invocation, textOption } from '../command.ts'
import { exit, UsageError } from '../exit.ts'
import { terminalLines } from '../Lines.ts'
import type { RunsAction } from './action.ts'
import { momentBefore } from './span.ts'
import { statusOption } from './statusOption.ts'

export const prune: RunsAction = {
  name: 'prune',
  operands: '',
  summary: 'deletes finished runs --older-than 30d',
  options: ['older-than', 'status', 'yes'],
  run: async (invocation, runs) => {
    const typed = textOption(invocation, 'older-than')
    if (typed === undefined)
      throw new UsageError('Say how old the runs must be. For example: --older-than 30d')
    const olderThan = momentBefore(typed, Date.now())
    const status = statusOption(invocation)
    const which = status.status ? `are ${status.status}` : 'are over'
    if (!(await isWanted(`Delete all runs that ${which} and did not change for ${typed}?`, invocation))) {
      invocation.screen.note('Nothing was deleted.')
      return exit.aborted
    }
    const count = await runs.prune({ olderThan, ...status })
    invocation.screen.line(`${count} deleted`)
    return exit.complete
  },
}

const isWanted = async (question: string, { screen, stdin, values }: Invocation): Promise<boolean> => {
  if (values.yes === true) return true
  if (!stdin.isTTY || !screen.hasReader)
    throw new UsageError('This deletes runs, and there is no terminal to confirm it: add --yes.')
  const { yellow, dim } = screen.notePaint
  const answer = await terminalLines(stdin, process.stderr).next(
    `${yellow('?')} ${question} ${dim('[y/N]')} `,
  )
  return /^\s*y(es)?\s*$/i.test(answer ?? '')
}
