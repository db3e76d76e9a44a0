import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const mostLines = 500
const mostSigns = 2000

/** What was typed at the prompt of earlier chats, newest first, and where what is typed now is kept. */
export type LineHistory = { lines: string[]; add: (line: string) => void }

/** The file that `STATEWIRE_HISTORY` names; none if it is empty. Otherwise one below the home folder. */
export const historyFile = (env: NodeJS.ProcessEnv): string | undefined => {
  const { STATEWIRE_HISTORY: own, XDG_STATE_HOME: state } = env
  if (own !== undefined) return own === '' ? undefined : own
  return join(state || join(homedir(), '.local/state'), 'statewire/history')
}

/** Only its owner may read the file. Without one, or where it cannot be written, lines are kept for this chat only. */
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
