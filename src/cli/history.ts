import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { ChatMessage } from '../messages/messages.ts'
import { validateHistory } from '../messages/validateHistory.ts'
import { UsageError } from './outcome.ts'

const mostLines = 500
const mostSigns = 2000

/** Lines of earlier chats, newest first, and a way to add the next. */
export type LineHistory = { lines: string[]; add: (line: string) => void }

/** The file that `STATEWIRE_HISTORY` names, else one below the home folder; undefined if the variable is empty. */
export const historyFile = (env: NodeJS.ProcessEnv): string | undefined => {
  const { STATEWIRE_HISTORY: own, XDG_STATE_HOME: state } = env
  if (own !== undefined) return own === '' ? undefined : own
  return join(state || join(homedir(), '.local/state'), 'statewire/history')
}

/** Reads the history, which only its owner may read. Without a file that can be written, lines are kept for this chat only. */
export const lineHistory = (file: string | undefined): LineHistory => ({
  lines: file === undefined ? [] : readLines(file),
  add: (line) => {
    if (file === undefined || line.trim() === '' || line.length > mostSigns || line.includes('\n')) return
    try {
      mkdirSync(dirname(file), { recursive: true })
      appendFileSync(file, `${line}\n`, { mode: 0o600 })
    } catch {}
  },
})

const readLines = (file: string): string[] => {
  try {
    const lines = readFileSync(file, 'utf8').split(/\r?\n/).filter(Boolean)
    return lines.slice(-mostLines).toReversed().map(stripVTControlCharacters)
  } catch {
    return []
  }
}

const largest = 16 * 1024 * 1024

/** The file beside the history of lines; undefined if that is switched off. */
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

/** Writes the conversation for its owner alone. One that is huge, or cannot be written, is not kept. */
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
