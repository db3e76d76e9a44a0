import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeThrown } from '../messages/errors.ts'
import { UsageError } from './exit.ts'

/** What is looked for in a file. */
export type Wanted<T> = {
  /** `machine`: the file exports several machines. */
  noun: string
  /** Recognised by its shape, since it may come from another copy of the package. */
  read: (value: unknown) => T | undefined
  /** `--export`. */
  name: string | undefined
}

/** What the user's file exports: the one named, the default, or the only one. */
export const findExport = async <T>(file: string, { noun, read, name }: Wanted<T>): Promise<T> => {
  const exported = Object.entries(unwrapped(await load(file), read))
  const names = exported.map(([each]) => each).join(', ') || 'nothing'
  const found = exported.flatMap(([each, value]) => {
    const fit = read(value)
    return fit === undefined ? [] : [{ name: each, fit }]
  })
  if (name !== undefined) {
    const chosen = found.find((each) => each.name === name)
    if (chosen) return chosen.fit
    const problem = exported.some(([each]) => each === name) ? `is not a${article(noun)}` : 'is not exported'
    throw new UsageError(`"${name}" ${problem}. ${file} exports: ${names}.`)
  }
  const chosen = found.find((each) => each.name === 'default') ?? found[0]
  if (!chosen) throw new UsageError(`${file} exports no ${noun}. It exports: ${names}.`)
  if (found.length > 1 && chosen.name !== 'default') {
    const choice = found.map((each) => each.name).join('|')
    throw new UsageError(`${file} exports several ${noun}s: choose one with --export ${choice}`)
  }
  return chosen.fit
}

const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'n' : ''} ${noun}`

const load = async (file: string): Promise<Record<string, unknown>> => {
  const path = resolve(file)
  if (!existsSync(path)) throw new UsageError(`There is no file ${file}.`)
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    throw new UsageError(`${file} cannot be loaded: ${problemOf(error, path)}`)
  }
}

/** A CommonJS module comes as a whole, as the default; its names may be missing beside it. */
const unwrapped = <T>(module: Record<string, unknown>, read: Wanted<T>['read']): Record<string, unknown> => {
  const { default: whole, 'module.exports': _, ...named } = module
  if (read(whole) !== undefined || typeof whole !== 'object' || whole === null) {
    return whole === undefined ? named : { default: whole, ...named }
  }
  return { ...whole, ...named }
}

const problemOf = (error: unknown, path: string): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const isTypeScript = /^\.[cm]?tsx?$/.test(extname(path))
  if (isTypeScript && (code === 'ERR_UNKNOWN_FILE_EXTENSION' || error instanceof SyntaxError)) {
    return [
      `Node ${process.version} does not read TypeScript. Node 22.18 or newer does.`,
      'Otherwise compile the file first, or load it with tsx:',
      'npm install tsx, then NODE_OPTIONS="--import tsx" before the command.',
    ].join(' ')
  }
  return describeThrown(error)
}
