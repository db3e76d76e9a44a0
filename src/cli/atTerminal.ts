import { openSync } from 'node:fs'
import { ReadStream } from 'node:tty'
import type { Invocation } from './command.ts'
import { type Lines, terminalLines } from './Lines.ts'

/**
 * The person at the terminal, asked on stderr: the answer alone goes to stdout, which may be a file. A person who piped the
 * prompt in is asked at the terminal all the same.
 */
export const atTerminal = ({ stdin, screen }: Invocation): Lines | undefined => {
  if (!screen.hasReader) return undefined
  return stdin.isTTY ? terminalLines(stdin, process.stderr) : besideThePipe()
}

const besideThePipe = (): Lines | undefined => {
  let input: ReadStream
  try {
    input = new ReadStream(openSync('/dev/tty', 'r'))
  } catch {
    // No terminal: a job of a server, or Windows.
    return undefined
  }
  const lines = terminalLines(input, process.stderr)
  return { next: lines.next, close: () => input.destroy() }
}
