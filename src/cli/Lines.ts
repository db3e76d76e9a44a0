import { createInterface } from 'node:readline'

/** What a person types, line by line. Undefined when they leave: Ctrl-D, Ctrl-C, or the end of a pipe. */
export type Lines = {
  /** The signal takes the prompt back. */
  next: (prompt: string, signal?: AbortSignal) => Promise<string | undefined>
  close: () => void
}

/**
 * Lines of a terminal. The terminal is only taken over while a line is typed: in between, Ctrl-C is a signal again, and
 * what is typed ahead waits for the next prompt.
 */
export const terminalLines = (input: NodeJS.ReadStream, output: NodeJS.WriteStream): Lines => {
  const ahead: string[] = []
  let begun = ''
  let history: string[] = []
  return {
    next: (prompt, signal) => {
      const waiting = ahead.shift()
      if (waiting !== undefined) {
        output.write(`${prompt}${waiting}\n`)
        return Promise.resolve(waiting)
      }
      return new Promise((resolve) => {
        const reader = createInterface({ input, output, prompt, history, historySize: 200 })
        let line: string | undefined
        reader.on('history', (lines) => {
          history = [...lines]
        })
        reader.on('line', (text) => {
          // What was pasted at once comes at once: the rest of it is for later prompts.
          if (line !== undefined) ahead.push(text)
          else setImmediate(() => reader.close())
          line ??= text
        })
        const leave = () => reader.close()
        reader.on('SIGINT', leave)
        signal?.addEventListener('abort', leave)
        reader.on('close', () => {
          signal?.removeEventListener('abort', leave)
          begun = line === undefined ? '' : reader.line
          if (line === undefined) output.write('\n')
          resolve(line)
        })
        reader.prompt()
        if (begun !== '') reader.write(begun)
      })
    },
    close: () => {},
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
    close: () => reader.close(),
  }
}
