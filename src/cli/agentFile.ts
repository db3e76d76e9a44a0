import { existsSync } from 'node:fs'
import type { Agent } from '../agent/Agent.ts'
import { type Invocation, textOption } from './command.ts'
import { UsageError } from './exit.ts'
import { findExport } from './moduleFile.ts'

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
