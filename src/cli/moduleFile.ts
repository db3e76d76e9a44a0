import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyStateMachine } from 'xstate'
import type { Agent } from '../agent/Agent.ts'
import { describeThrown } from '../messages/errors.ts'
import { type Invocation, textOption } from './command.ts'
import { UsageError } from './outcome.ts'

/** Options that the agent of a file sets itself. */
const ownOptions = ['model', 'base-url', 'system', 'temperature', 'thinking', 'no-tools', 'mcp']

/** The file of an agent at the beginning of what was typed, and the words after it: those of the prompt. */
export const splitFile = (words: readonly string[]): { file: string | undefined; words: string[] } => {
  const [first = '', ...rest] = words
  return isAgentFile(first) ? { file: first, words: rest } : { file: undefined, words: [...words] }
}

/** A path, or a file that exists: "node.js" alone may well be a prompt, and so may "Explain src/app.ts". */
const isAgentFile = (word: string): boolean =>
  /\.[cm]?[jt]s$/.test(word) && (/^\S*[\\/]\S*$/.test(word) || existsSync(word))

/** The agent that the user's file exports. */
export const findAgent = (file: string, invocation: Invocation): Promise<Agent> => {
  const useless = ownOptions.find((name) => invocation.values[name] !== undefined)
  if (useless !== undefined)
    throw new UsageError(`${file} has its own model, tools and settings: leave --${useless} out.`)
  return findExport(file, { noun: 'agent', read: agentIn, name: textOption(invocation, 'export') })
}

const agentIn = (value: unknown): Agent | undefined =>
  typeof value === 'object' && value !== null && isAgent(value) ? value : undefined

const isAgent = (value: object): value is Agent =>
  ['actor', 'sendStream', 'asTool'].every((name) => typeof Reflect.get(value, name) === 'function') &&
  'machine' in value

/** The machine that the user's file exports, or that of its agent. */
export const findMachine = (file: string, name: string | undefined): Promise<AnyStateMachine> =>
  findExport(file, { noun: 'machine', read: machineIn, name })

const machineIn = (value: unknown): AnyStateMachine | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  if (isMachine(value)) return value
  const { machine }: { machine?: unknown } = value
  return typeof machine === 'object' && machine !== null && isMachine(machine) ? machine : undefined
}

const isMachine = (value: object): value is AnyStateMachine =>
  'root' in value && 'config' in value && 'transition' in value && 'getInitialSnapshot' in value

/** Describes the export that is looked for in a file. */
type Wanted<T> = {
  /** A noun for messages, such as `machine`. */
  noun: string
  /** Recognises it by its shape, since it may come from another copy of the package. */
  read: (value: unknown) => T | undefined
  /** The name that `--export` gives. */
  name: string | undefined
}

/** The export of a user's file: the one named, the default, or the only one. */
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
