import type { RunInfo } from '../../durable/index.ts'
import { type Invocation, textOption } from '../command.ts'
import { exit, UsageError } from '../exit.ts'
import { oneLine } from '../paint.ts'
import type { Screen } from '../Screen.ts'
import { table, widthOf } from '../table.ts'
import type { RunsAction } from './action.ts'
import { spanText } from './span.ts'
import { painted, statusOption } from './statusOption.ts'

/** As many as fit on a screen or two. */
const usualLimit = 50

export const list: RunsAction = {
  name: 'list',
  operands: '',
  summary: 'the newest runs; this is the default',
  options: ['status', 'agent', 'limit', 'json'],
  run: async (invocation, runs) => {
    const { screen, values, words } = invocation
    if (words.length > 0) throw new UsageError('list takes no words: to see one run, use show.')
    const agent = textOption(invocation, 'agent')
    const limit = limitOf(invocation)
    const found = await runs.list({
      ...statusOption(invocation),
      ...(agent !== undefined && { agent }),
      limit,
    })
    if (values.json === true) for (const info of found) screen.json(info)
    else if (found.length === 0) screen.note('There are no such runs.')
    else for (const line of linesOf(found, screen)) screen.line(line)
    if (found.length === limit) screen.note(screen.notePaint.dim(`These are the newest ${limit}.`))
    return exit.complete
  },
}

const limitOf = (invocation: Invocation): number => {
  const typed = textOption(invocation, 'limit')
  if (typed === undefined) return usualLimit
  if (!/^[1-9]\d{0,5}$/.test(typed)) throw new UsageError(`"${typed}" is not a limit: write a number.`)
  return Number(typed)
}

const linesOf = (found: readonly RunInfo[], { paint, columns }: Screen): string[] => {
  const now = Date.now()
  const rows = found.map(({ id, agent, status, state, step, createdAt, prompt }) => [
    paint.bold(oneLine(id)),
    oneLine(agent),
    painted(status, paint),
    oneLine(state) || '–',
    String(step),
    spanText(now - createdAt.getTime()),
    oneLine(prompt),
  ])
  const head = ['ID', 'AGENT', 'STATUS', 'STATE', 'STEP', 'AGE', 'PROMPT']
  // The prompt comes last and has no colour, so that it can be cut.
  const [first = '', ...lines] = table([head, ...rows])
  return [paint.dim(first), ...lines.map((line, at) => cut(line, columns, rows[at]?.at(-1) ?? ''))]
}

const cut = (line: string, room: number, prompt: string): string => {
  const excess = Math.min(widthOf(line) - room, prompt.length - 1)
  return excess > 0 ? `${line.slice(0, -excess - 1)}…` : line
}
