import { readFile, stat } from 'node:fs/promises'
import { describeThrown } from '../messages/errors.ts'
import { UsageError } from './exit.ts'

const mostBytes = 20 * 1024 * 1024

/** A file that an option names. */
export const fileOfOption = async (option: string, path: string): Promise<Buffer> => {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw new UsageError(`--${option}: there is no file ${path}.`)
  if (found.size > mostBytes)
    throw new UsageError(`--${option}: ${path} is larger than ${mostBytes / 1024 / 1024} MB.`)
  return readFile(path).catch((error: unknown) => {
    throw new UsageError(`--${option}: ${path} cannot be read: ${describeThrown(error)}`)
  })
}
