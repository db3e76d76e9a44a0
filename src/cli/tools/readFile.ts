import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import { type Tool, tool } from '../../tools/tool.ts'

const mostBytes = 64 * 1024

/** Reads a text file below a folder. Links that lead out of it, hidden files, keys and large files are refused. */
export const readBelow = async (root: string, path: string): Promise<string> => {
  if (path.trim() === '' || path.includes('\0')) throw new Error('A path is needed.')
  const folder = await realpath(root)
  const asked = resolve(folder, path)
  refuseOutside(folder, asked, path)
  const real = await realpath(asked).catch(() => {
    throw new Error(`There is no file ${path}.`)
  })
  refuseOutside(folder, real, path)
  // Opens exactly the file that was checked: a link that replaced it meanwhile is not followed.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }))
    if (!isFile) throw new Error(`${path} is not a file.`)
    if (size > mostBytes) throw new Error(`${path} has ${size} bytes; at most ${mostBytes} are read.`)
    return textOf(await file.readFile(), path)
  } finally {
    await file.close()
  }
}

const refuseOutside = (folder: string, place: string, path: string): void => {
  const inside = relative(folder, place)
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
    throw new Error(`${path} is outside of the current folder.`)
  }
  const names = inside.split(sep)
  if (names.some((name) => name.startsWith('.')) || /\.(?:pem|key|p12|pfx)$/i.test(inside)) {
    throw new Error(`${path} is hidden, or looks like a key: it is not read.`)
  }
}

const textOf = (bytes: Buffer, path: string): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {}
  throw new Error(`${path} is not a text file.`)
}

export const readFile: Tool = tool({
  name: 'read_file',
  description: 'Reads a text file below the current folder',
  input: z.object({ path: z.string().describe('Relative to the current folder, such as docs/guide.md') }),
  needsApproval: true,
  execute: ({ path }) => readBelow(process.cwd(), path),
})
