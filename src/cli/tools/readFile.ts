import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import path, { type PlatformPath } from 'node:path'
import { z } from 'zod'
import { type Tool, tool } from '../../tools/tool.ts'

const mostBytes = 64 * 1024

/** Reads a text file below a folder. Links that lead out of it, hidden files, keys and large files are refused. */
export const readBelow = async (root: string, wanted: string): Promise<string> => {
  if (wanted.trim() === '' || wanted.includes('\0')) throw new Error('A path is needed.')
  const folder = await realpath(root)
  const asked = path.resolve(folder, wanted)
  refuseForbidden(folder, asked, wanted)
  const real = await realpath(asked).catch(() => {
    throw new Error(`There is no file ${wanted}.`)
  })
  refuseForbidden(folder, real, wanted)
  // Opens exactly the file that was checked: a link that replaced it meanwhile is not followed. Windows has neither flag.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }))
    if (!isFile) throw new Error(`${wanted} is not a file.`)
    if (size > mostBytes) throw new Error(`${wanted} has ${size} bytes; at most ${mostBytes} are read.`)
    return textOf(await file.readFile(), wanted)
  } finally {
    await file.close()
  }
}

const refuseForbidden = (folder: string, place: string, wanted: string): void => {
  const problem = problemOf(folder, place)
  if (problem !== undefined) throw new Error(`${wanted} ${problem}`)
}

/** Why a place is not read, by the rules of a platform's paths. */
export const problemOf = (
  folder: string,
  place: string,
  { relative, isAbsolute, sep }: PlatformPath = path,
): string | undefined => {
  const inside = relative(folder, place)
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    return 'is outside of the current folder.'
  // On Windows "server.key::$DATA" and "server.key." are other names of the same file.
  const names = inside.split(sep).map((name) => (sep === '\\' ? name.replace(/:.*$|[. ]+$/s, '') : name))
  const isHidden = names.some((name) => name.startsWith('.'))
  return isHidden || /\.(?:pem|key|p12|pfx)$/i.test(names.at(-1) ?? '')
    ? 'is hidden, or looks like a key: it is not read.'
    : undefined
}

const textOf = (bytes: Buffer, wanted: string): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {}
  throw new Error(`${wanted} is not a text file.`)
}

export const readFile: Tool = tool({
  name: 'read_file',
  description: 'Reads a text file below the current folder',
  input: z.object({ path: z.string().describe('Relative to the current folder, such as docs/guide.md') }),
  needsApproval: true,
  execute: ({ path }) => readBelow(process.cwd(), path),
})
