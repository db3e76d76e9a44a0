import { once } from 'node:events'
import { UsageError } from './exit.ts'

const mostBytes = 16 * 1024 * 1024

type Pipe = NodeJS.ReadableStream & { destroy(): unknown }

/** Everything that comes from a pipe. With a time limit: undefined if nothing has come by then, and the pipe is ignored. */
export function pipedText(input: Pipe): Promise<string>
export function pipedText(input: Pipe, patienceMs: number): Promise<string | undefined>
export async function pipedText(input: Pipe, patienceMs?: number): Promise<string | undefined> {
  if (patienceMs !== undefined && !(await hasText(input, patienceMs))) {
    input.destroy()
    return undefined
  }
  const parts: Buffer[] = []
  let size = 0
  for await (const part of input) {
    const bytes = Buffer.from(part)
    size += bytes.length
    if (size > mostBytes)
      throw new UsageError(
        `More than ${mostBytes / 1024 / 1024} MB came from stdin. No model reads that much.`,
      )
    parts.push(bytes)
  }
  return Buffer.concat(parts).toString('utf8').trim()
}

/** Whether something can be read in time, even if only the end. */
const hasText = async (input: Pipe, patienceMs: number): Promise<boolean> => {
  try {
    await once(input, 'readable', { signal: AbortSignal.timeout(patienceMs) })
    return true
  } catch {
    return false
  }
}
