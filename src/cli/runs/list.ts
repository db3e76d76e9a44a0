import type { RunInfo, Runs } from '../../durable/index.ts'
import { type Invocation, textOption } from '../command.ts'
import { terminalLines } from '../Lines.ts'
import { exit, UsageError } from '../outcome.ts'
import type { Screen } from '../Screen.ts'
import { oneLine, spanText, table, units, widthOf } from '../terminalText.ts'
import type { RunsAction } from './action.ts'
import { painted, statusOption } from './action.ts'
import { taskRows, tasksOf } from './tasks.ts'

/** The default of `--limit`: a screen or two. */
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
    else for (const line of await linesOf(found, runs, screen)) screen.line(line)
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

const linesOf = async (
  found: readonly RunInfo[],
  runs: Runs,
  { paint, columns }: Screen,
): Promise<string[]> => {
  const now = Date.now()
  const rows: string[][] = []
  for (const { id, agent, status, state, step, createdAt, prompt } of found) {
    rows.push([
      paint.bold(oneLine(id)),
      oneLine(agent),
      painted(status, paint),
      oneLine(state) || '–',
      String(step),
      spanText(now - createdAt.getTime()),
      oneLine(prompt),
    ])
    if (status === 'running' || status === 'waiting') rows.push(...taskRows(await tasksOf(runs, id), now))
  }
  const head = ['ID', 'AGENT', 'STATUS', 'STATE', 'STEP', 'AGE', 'PROMPT']
  // The prompt comes last and has no colour, so that it can be cut.
  const [first = '', ...lines] = table([head, ...rows])
  return [paint.dim(first), ...lines.map((line, at) => cut(line, columns, rows[at]?.at(-1) ?? ''))]
}

const cut = (line: string, room: number, prompt: string): string => {
  const excess = Math.min(widthOf(line) - room, prompt.length - 1)
  return excess > 0 ? `${line.slice(0, -excess - 1)}…` : line
}

export const prune: RunsAction = {
  name: 'prune',
  operands: '',
  summary: 'deletes finished runs --older-than 30d',
  options: ['older-than', 'status', 'chats', 'yes'],
  run: async (invocation, runs) => {
    const typed = textOption(invocation, 'older-than')
    if (typed === undefined)
      throw new UsageError('Say how old the runs must be. For example: --older-than 30d')
    const olderThan = momentBefore(typed, Date.now())
    const status = statusOption(invocation)
    const which = status.status ? `are ${status.status}` : 'are over'
    const isWithChats = invocation.values.chats === true
    const what = isWithChats ? 'runs, and all chats that end with them,' : 'runs'
    if (!(await isWanted(`Delete all ${what} that ${which} and did not change for ${typed}?`, invocation))) {
      invocation.screen.note('Nothing was deleted.')
      return exit.aborted
    }
    const count = await runs.prune({ olderThan, ...status, chats: isWithChats })
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

/** The moment that was this long ago: `30d`. */
const momentBefore = (typed: string, now: number): Date => {
  const [, count, unit] = /^(\d{1,6})\s*([mhdw])$/.exec(typed) ?? []
  if (count === undefined || !isUnit(unit))
    throw new UsageError(`"${typed}" is not a time: write 30d, 12h, 45m or 2w.`)
  return new Date(now - Number(count) * units[unit])
}

const isUnit = (unit: string | undefined): unit is keyof typeof units =>
  unit !== undefined && Object.hasOwn(units, unit)
