import type { AgentInput } from '../../../machines/agent/events.ts'
import { conversationOf as storedConversation } from '../../durable/conversation.ts'
import type { Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/storeView.ts'
import { compactionOf } from '../../messages/compaction.ts'
import { isMessage } from '../../messages/messageFlaw.ts'
import {
  type ChatMessage,
  type ToolResultPart,
  textOf,
  textPart,
  toolCallsOf,
  toolResultsOf,
} from '../../messages/messages.ts'
import { printable } from '../paint.ts'
import type { Screen } from '../Screen.ts'
import { callLine } from '../toolLine.ts'
import { compactionLine } from '../usageText.ts'

/** What a stored run has added to its conversation, and how much there was before. */
export type Conversation = { earlier: number; messages: ChatMessage[] }

export const conversationOf = (runs: Runs, id: string): Conversation => {
  const from = viewOf(runs)?.from(id)
  if (!from) return { earlier: 0, messages: [] }
  const { before, added } = storedConversation(from)
  return { earlier: before.length, messages: 'input' in from ? asked(from.input) : added }
}

/** The prompt of a run that has not begun: its agent has not read it yet. */
const asked = ({ prompt = [] }: AgentInput): ChatMessage[] => {
  const message = { role: 'user', parts: typeof prompt === 'string' ? [textPart(prompt)] : prompt } as const
  return isMessage(message) ? [message] : []
}

/** A result longer than this is cut. */
const longestResult = 2000

/** The conversation as a person reads it: each call with its result below it. */
export const showConversation = ({ earlier, messages }: Conversation, screen: Screen): void => {
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
