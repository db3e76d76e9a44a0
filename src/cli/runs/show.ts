import type { AgentInput } from '../../../machines/agent/events.ts'
import type { RunInfo, Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/storeView.ts'
import { compactionOf } from '../../messages/compaction.ts'
import { dollars } from '../../messages/dollars.ts'
import { messageFlaw } from '../../messages/messageFlaw.ts'
import {
  type ChatMessage,
  type ToolResultPart,
  textOf,
  textPart,
  toolCallsOf,
  toolResultsOf,
} from '../../messages/messages.ts'
import { describeError, exit } from '../outcome.ts'
import { callLine, compactionLine } from '../progress.ts'
import type { Screen } from '../Screen.ts'
import { oneLine, printable, spanText, table } from '../terminalText.ts'
import { namedRun, painted, pendingLines, type RunsAction } from './action.ts'
import { storeOption } from './openStore.ts'
import { taskRows, tasksOf } from './tasks.ts'

export const show: RunsAction = {
  name: 'show',
  operands: '<id>',
  summary: 'its status and its conversation',
  options: ['json'],
  run: async (invocation, runs) => {
    const { screen, values, words } = invocation
    const run = await namedRun(runs, words)
    const info = await run.info()
    const conversation = await conversationOf(runs, run.id)
    const tasks = await tasksOf(runs, run.id)
    if (values.json === true) {
      screen.json({ ...info, tasks, messages: conversation.messages })
      return exit.complete
    }
    for (const line of table(factsOf(info, screen))) screen.line(line)
    if (tasks.length > 0) {
      screen.line()
      screen.line(screen.paint.dim('tasks'))
      for (const line of table(taskRows(tasks, Date.now()))) screen.line(line)
    }
    screen.line()
    showConversation(conversation, screen)
    if (info.pending.length > 0) {
      screen.line(screen.paint.yellow('It waits for:'))
      for (const line of pendingLines(info, storeOption(invocation))) screen.line(line)
    }
    if (info.error) showReason(info.error, screen)
    return exit.complete
  },
}

const factsOf = (info: RunInfo, { paint }: Screen): string[][] => {
  const { id, agent, status, state, step, usage, recoveries, forkedFrom } = info
  const when = (date: Date) => `${date.toISOString()} (${spanText(Date.now() - date.getTime())} ago)`
  // A file of another program may hold anything where numbers belong.
  const tokens = usage && oneLine(`${usage.inputTokens ?? '?'} in, ${usage.outputTokens ?? '?'} out`)
  const cost = usage?.cost === undefined ? undefined : oneLine(dollars(usage.cost))
  const facts: [string, string | undefined][] = [
    ['run', paint.bold(oneLine(id))],
    ['agent', oneLine(agent)],
    ['status', painted(status, paint)],
    ['state', oneLine(state) || undefined],
    ['model calls', oneLine(String(step))],
    ['tokens', tokens],
    ['cost', cost],
    ['created', when(info.createdAt)],
    ['changed', when(info.updatedAt)],
    ['forked from', forkedFrom && oneLine(forkedFrom)],
    ['recovered', recoveries > 0 ? oneLine(`${recoveries} times without getting further`) : undefined],
  ]
  return facts.flatMap(([name, fact]) => (fact === undefined ? [] : [[paint.dim(name), fact]]))
}

const showReason = (error: NonNullable<RunInfo['error']>, screen: Screen): void => {
  const { message, hint } = describeError(error)
  screen.line(`${screen.paint.red(`${oneLine(error.name)}:`)} ${printable(message)}`)
  if (hint !== '') screen.line(screen.paint.dim(hint))
}

/** The messages that a stored run added to its conversation, and the number of those before. */
export type Conversation = { earlier: number; messages: ChatMessage[] }

export const conversationOf = async (runs: Runs, id: string): Promise<Conversation> => {
  const view = viewOf(runs)
  const from = await view?.from(id)
  const { before, added } = (await view?.conversation(id)) ?? { before: [], added: [] }
  const isBegun = added.length > 0 || !from || !('input' in from)
  return { earlier: before.length, messages: isBegun ? added : asked(from.input) }
}

/** The prompt of a run that has not begun: its agent has not read it yet. */
const asked = ({ prompt = [] }: AgentInput): ChatMessage[] => {
  const message = { role: 'user', parts: typeof prompt === 'string' ? [textPart(prompt)] : prompt } as const
  return messageFlaw(message) === undefined ? [message] : []
}

/** The length at which a result is cut. */
const longestResult = 2000

/** The conversation as a person reads it: each call with its result below it. */
const showConversation = ({ earlier, messages }: Conversation, screen: Screen): void => {
  const { paint } = screen
  const results = new Map(messages.flatMap(toolResultsOf).map((result) => [result.id, result]))
  if (earlier > 0) screen.line(paint.dim(`(after ${earlier} earlier messages)\n`))
  for (const message of messages) {
    const compaction = compactionOf(message)
    if (compaction) {
      screen.line(paint.dim(`  · ${compactionLine(compaction)}\n`))
      continue
    }
    const text = printable(textOf(message)).trim()
    if (text !== '') screen.line(message.role === 'user' ? `${paint.bold('>')} ${text}\n` : `${text}\n`)
    for (const call of toolCallsOf(message)) {
      screen.line(`  · ${callLine(call)}`)
      const result = results.get(call.id)
      if (result) screen.line(`${resultText(result)}\n`)
      else screen.line(paint.dim('    (no result yet)\n'))
    }
  }
}

const resultText = ({ result, isError, parts = [] }: ToolResultPart): string => {
  const text = printable(result).trim()
  const cut =
    text.length > longestResult
      ? `${text.slice(0, longestResult)} … (${text.length} characters in all)`
      : text
  const files = parts.map((part) => `[${part.type === 'link' ? part.url : part.mimeType}]`)
  const whole = [cut, printable(files.join(' '))].filter((each) => each !== '').join(' ')
  return `    ${isError ? '✗' : '→'} ${whole.replaceAll('\n', '\n      ')}`
}
