import { parseArgs } from 'node:util'
import { describeThrown } from '../messages/errors.ts'
import { nearest } from '../messages/optionNames.ts'
import { UsageError } from './outcome.ts'
import type { Screen } from './Screen.ts'

export type OptionSpec = {
  type: 'string' | 'boolean'
  short?: string
  /** The placeholder in the help: `--model <name>`. */
  value?: string
  /** Set for an option that may be given several times. */
  isMany?: true
  about: string
}

export type Values = Record<string, string | boolean | string[] | undefined>

/** A command line as a command gets it, with its streams and environment. */
export type Invocation = {
  values: Values
  words: string[]
  screen: Screen
  stdin: NodeJS.ReadStream
  env: NodeJS.ProcessEnv
}

export type Command = {
  name: string
  /** Another name for it. */
  alias?: string
  summary: string
  /** The words that follow the name: `[prompt]`. */
  operands: string
  options: Record<string, OptionSpec>
  /** More for its help page. */
  details: readonly string[]
  /** Returns the exit code. */
  run: (invocation: Invocation) => Promise<number>
}

/** Options of all commands that ask a model. */
export const modelOptions = {
  model: { type: 'string', short: 'm', value: 'name', about: 'provider:model, or simulator' },
  'base-url': {
    type: 'string',
    value: 'url',
    about: 'another server that speaks its protocol',
  },
  system: { type: 'string', short: 's', value: 'text', about: 'instructions for the model' },
  temperature: {
    type: 'string',
    short: 't',
    value: 'number',
    about: 'how varied the answers are',
  },
  attach: {
    type: 'string',
    short: 'a',
    value: 'file',
    isMany: true,
    about: 'a file or URL that goes with the prompt',
  },
  mcp: {
    type: 'string',
    value: 'server',
    isMany: true,
    about: 'tools of an MCP server: a URL, or a command',
  },
  export: { type: 'string', short: 'e', value: 'name', about: 'which export of the file is the agent' },
  'no-tools': { type: 'boolean', about: 'without the built-in tools' },
  approve: { type: 'boolean', about: 'allow every tool call without asking' },
  thinking: { type: 'boolean', about: 'ask the model to think first' },
  'max-steps': { type: 'string', value: 'n', about: 'model calls before it asks you; default 25' },
  'max-cost': { type: 'string', value: 'usd', about: 'the same, where the cost is known' },
} as const satisfies Record<string, OptionSpec>

/** Reads what was typed after the command's name. */
export const readArguments = (
  command: Command,
  typed: readonly string[],
): { values: Values; words: string[] } => {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, short, isMany }]) => [
      name,
      { type, ...(short && { short }), ...(isMany && { multiple: true }) },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({
      args: [...typed],
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    return {
      values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, single(value)])),
      words: positionals,
    }
  } catch (error) {
    throw new UsageError(problemOf(describeThrown(error), command))
  }
}

/** Options of other programs, and what to do here. */
const otherWays: Readonly<Record<string, string>> = {
  'api-key': 'Keys come from the environment: statewire doctor lists their variables.',
  key: 'Keys come from the environment: statewire doctor lists their variables.',
  tools: 'Name a file that exports an agent with tools: statewire run agent.mjs.',
  db: 'Stored runs are for statewire chat, runs and inspect.',
}

/** Node's message, with our own advice: what was probably meant. */
const problemOf = (message: string, { name, options }: Command): string => {
  const [problem = message] = message.split(/\.? To specify/)
  const unknown = /Unknown option '--?([^']+)'/.exec(problem)?.[1]
  const meant = unknown === undefined ? undefined : nearest(unknown, [...Object.keys(options), 'help'])
  const otherWay = unknown !== undefined && Object.hasOwn(otherWays, unknown) ? otherWays[unknown] : undefined
  const help = `statewire ${name} --help lists the options.`
  const advice = otherWay ?? (meant ? `Did you mean --${meant}?` : help)
  return `${problem.replace(/[.\s]*$/, '.')} ${advice}`
}

const single = (value: unknown): Values[string] => {
  if (Array.isArray(value)) return value.filter((each) => typeof each === 'string')
  return typeof value === 'string' || typeof value === 'boolean' ? value : undefined
}

export const textOption = ({ values }: Pick<Invocation, 'values'>, name: string): string | undefined => {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** An option that may be given several times. */
export const listOption = ({ values }: Pick<Invocation, 'values'>, name: string): string[] => {
  const value = values[name]
  return Array.isArray(value) ? value : []
}

export const numberOption = (invocation: Pick<Invocation, 'values'>, name: string): number | undefined => {
  const text = textOption(invocation, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new UsageError(`--${name} takes a number that is not negative, not "${text}".`)
  return value
}
