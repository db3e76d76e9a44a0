import { closeSync, constants, openSync, readSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { ReadStream } from 'node:tty'
import type { Invocation } from './command.ts'
import type { LineHistory } from './history.ts'

/** Lines that a person types; undefined when they leave: Ctrl-D, Ctrl-C, or the end of a pipe. */
export type Lines = {
  /** Asks for a line, which may begin with a text. The signal withdraws the prompt. */
  next: (prompt: string, signal?: AbortSignal, text?: string) => Promise<string | undefined>
  /** Calls back with each line that is typed while no prompt is on the screen, until the returned function is called. */
  watch: (onLine: (line: string) => void) => () => void
  /** Drops what was typed so far: it is not an answer to a question that was not on the screen yet. */
  dropTyped: () => void
  close: () => void
}

/** Asks the terminal to mark what is pasted, so that its lines can be distinguished from typed ones. */
const markPaste = '\u001b[?2004h'
const unmarkPaste = '\u001b[?2004l'

/**
 * Lines of a terminal. The terminal is only taken over while a line is typed: in between, Ctrl-C is a signal again, and
 * what is typed ahead waits for the next prompt. What is pasted stays together, however many lines it has.
 */
export const terminalLines = (
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  { lines: earlier, add }: LineHistory = { lines: [], add: () => {} },
): Lines => {
  const ahead: string[] = []
  let begun = ''
  let history = earlier
  let onTyped: ((line: string) => void) | undefined
  // The terminal itself shows these lines, and gives them when they are whole.
  const read = (piece: Buffer) => {
    const lines = `${begun}${piece}`.split('\n')
    begun = lines.pop() ?? ''
    for (const line of lines) {
      if (ahead.length > 0) ahead.push(line)
      else onTyped?.(line)
    }
  }
  const attend = () => {
    if (onTyped && !input.readableEnded) input.on('data', read).resume()
  }
  const ignore = () => {
    if (onTyped) input.off('data', read).pause()
  }
  return {
    watch: (onLine) => {
      onTyped = onLine
      attend()
      return () => {
        ignore()
        onTyped = undefined
      }
    },
    next: (prompt, signal, text = '') => {
      const waiting = ahead.shift()
      if (waiting !== undefined) {
        output.write(`${prompt}${waiting}\n`)
        return Promise.resolve(waiting)
      }
      // Ctrl-D has ended it while no prompt was there.
      if (input.readableEnded) return Promise.resolve(undefined)
      ignore()
      return new Promise((resolve) => {
        const reader = createInterface({ input, output, prompt, history, historySize: 500 })
        let line: string | undefined
        let isPasting = false
        let pasted: string[] = []
        const notice = (_: unknown, key: { name?: string } | undefined) => {
          if (key?.name === 'paste-start') isPasting = true
          if (key?.name === 'paste-end') isPasting = false
        }
        // Runs before readline sees a key: a line break within a paste does not end the question.
        input.prependListener('keypress', notice)
        reader.on('history', (lines) => {
          history = [...lines]
        })
        reader.on('line', (typed) => {
          if (isPasting) {
            pasted.push(typed)
            return
          }
          const whole = [...pasted, typed].join('\n')
          pasted = []
          // What was typed ahead arrives at once: the rest of it is for later prompts.
          if (line !== undefined) ahead.push(whole)
          else setImmediate(() => reader.close())
          line ??= whole
        })
        const leave = () => reader.close()
        reader.on('SIGINT', leave)
        signal?.addEventListener('abort', leave)
        reader.on('close', () => {
          signal?.removeEventListener('abort', leave)
          input.off('keypress', notice)
          output.write(unmarkPaste)
          begun = line === undefined ? '' : reader.line
          if (line === undefined) output.write('\n')
          else add(line)
          attend()
          resolve(line)
        })
        output.write(markPaste)
        reader.prompt()
        if (text !== '' || begun !== '') reader.write(text + begun)
      })
    },
    dropTyped: () => {
      ahead.length = 0
      begun = ''
      emptyTerminal(input)
    },
    close: () => {},
  }
}

/** Reads what the terminal has kept, and forgets it. */
const emptyTerminal = (input: NodeJS.ReadStream): void => {
  if (input.readableLength > 0) input.read()
  // Otherwise the terminal keeps back a line that has not ended.
  input.setRawMode(true)
  let terminal: number | undefined
  try {
    terminal = openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK)
    const piece = Buffer.alloc(4096)
    while (readSync(terminal, piece) > 0);
  } catch {
    // Nothing more is there, or there is no such file, as on Windows.
  } finally {
    if (terminal !== undefined) closeSync(terminal)
  }
}

/** Lines of a pipe or a file; prompts are not shown. */
export const pipedLines = (input: NodeJS.ReadableStream): Lines => {
  const reader = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  const lines = reader[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { value, done } = await lines.next()
      return done ? undefined : value
    },
    // Each line of a pipe is a turn, which nothing is typed during.
    watch: () => () => {},
    // A pipe is written for questions that are known before.
    dropTyped: () => {},
    close: () => reader.close(),
  }
}

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
  return { ...lines, close: () => input.destroy() }
}
