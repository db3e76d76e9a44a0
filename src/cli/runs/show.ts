import type { RunInfo } from '../../durable/index.ts'
import { dollars } from '../../messages/dollars.ts'
import { describeError } from '../describeError.ts'
import { exit } from '../exit.ts'
import { oneLine, printable } from '../paint.ts'
import type { Screen } from '../Screen.ts'
import { table } from '../table.ts'
import { namedRun, type RunsAction } from './action.ts'
import { conversationOf, showConversation } from './conversation.ts'
import { fileOption } from './openFile.ts'
import { pendingLines } from './pendingLines.ts'
import { spanText } from './span.ts'
import { painted } from './statusOption.ts'

export const show: RunsAction = {
  name: 'show',
  operands: '<id>',
  summary: 'its status and its conversation',
  options: ['json'],
  run: async (invocation, runs) => {
    const { screen, values, words } = invocation
    const run = await namedRun(runs, words)
    const info = await run.info()
    const conversation = conversationOf(runs, run.id)
    if (values.json === true) {
      screen.json({ ...info, messages: conversation.messages })
      return exit.complete
    }
    for (const line of table(factsOf(info, screen))) screen.line(line)
    screen.line()
    showConversation(conversation, screen)
    if (info.pending.length > 0) {
      screen.line(screen.paint.yellow('It waits for:'))
      for (const line of pendingLines(info, fileOption(invocation))) screen.line(line)
    }
    if (info.error) showReason(info.error, screen)
    return exit.complete
  },
}

const factsOf = (info: RunInfo, { paint }: Screen): string[][] => {
  const { id, agent, status, state, step, usage, recoveries, forkedFrom } = info
  const when = (date: Date) => `${date.toISOString()} (${spanText(Date.now() - date.getTime())} ago)`
  const tokens = usage && `${usage.inputTokens ?? '?'} in, ${usage.outputTokens ?? '?'} out`
  const cost = usage?.cost === undefined ? undefined : dollars(usage.cost)
  const facts: [string, string | undefined][] = [
    ['run', paint.bold(oneLine(id))],
    ['agent', oneLine(agent)],
    ['status', painted(status, paint)],
    ['state', oneLine(state) || undefined],
    ['model calls', String(step)],
    ['tokens', tokens],
    ['cost', cost],
    ['created', when(info.createdAt)],
    ['changed', when(info.updatedAt)],
    ['forked from', forkedFrom && oneLine(forkedFrom)],
    ['taken up', recoveries > 0 ? `${recoveries} times without getting further` : undefined],
  ]
  return facts.flatMap(([name, fact]) => (fact === undefined ? [] : [[paint.dim(name), fact]]))
}

const showReason = (error: NonNullable<RunInfo['error']>, screen: Screen): void => {
  const { message, hint } = describeError(error)
  screen.line(`${screen.paint.red(`${oneLine(error.name)}:`)} ${printable(message)}`)
  if (hint !== '') screen.line(screen.paint.dim(hint))
}
