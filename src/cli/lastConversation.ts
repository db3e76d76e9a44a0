import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ChatMessage } from '../messages/messages.ts'
import { validateHistory } from '../messages/validateHistory.ts'
import { UsageError } from './exit.ts'
import { historyFile } from './lineHistory.ts'

const largest = 16 * 1024 * 1024

/** The file beside the history of lines; none where that is switched off. */
const fileIn = (env: NodeJS.ProcessEnv): string | undefined => {
  const history = historyFile(env)
  return history && join(dirname(history), 'conversation.json')
}

/** The messages that `--continue` continues. */
export const lastConversation = (env: NodeJS.ProcessEnv): ChatMessage[] => {
  const file = fileIn(env)
  if (file === undefined)
    throw new UsageError('--continue needs a place to keep conversations: set STATEWIRE_HISTORY to a file.')
  const text = textIn(file)
  if (text === undefined)
    throw new UsageError('There is no conversation to continue yet: leave --continue out.')
  const messages = messagesIn(text)
  if (!messages) throw new UsageError(`${file} is not a conversation: delete it, and leave --continue out.`)
  return messages
}

/** Only its owner may read it. Where it cannot be written, or is huge, the conversation is not kept. */
export const keepConversation = (env: NodeJS.ProcessEnv, messages: readonly ChatMessage[]): void => {
  const file = fileIn(env)
  const text = JSON.stringify(messages)
  if (file === undefined || text.length > largest) return
  try {
    mkdirSync(dirname(file), { recursive: true })
    const next = `${file}.${process.pid}`
    writeFileSync(next, text, { mode: 0o600 })
    renameSync(next, file)
  } catch {}
}

const textIn = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

const messagesIn = (text: string): ChatMessage[] | undefined => {
  try {
    const messages: ChatMessage[] = JSON.parse(text)
    return validateHistory(messages).length === 0 ? messages : undefined
  } catch {
    return undefined
  }
}
