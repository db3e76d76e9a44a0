import { createHash } from 'node:crypto'
import { limitRules } from '../../machines/agent/configRules.ts'
import type { AnyAgent } from '../agent/options.ts'
import { ConfigurationError, ConflictError, describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject, stableJson } from '../messages/json.ts'
import {
  amount,
  checkOptions,
  checkSome,
  checkValue,
  fields,
  having,
  listOf,
  member,
  object,
  oneOf,
  orWrite,
  type Rules,
  rule,
  text,
  wholeFrom,
  writtenAs,
} from '../messages/optionRules.ts'
import type { Schema } from '../tools/schema.ts'
import {
  type DurableRun,
  type Runs,
  runStatuses,
  type StartOptions,
  type TurnOptions,
  type WakeOptions,
} from './runs.ts'

/** The agents of a process, by name. A stored run knows only the name. */
export class Agents {
  readonly #agents: Readonly<Record<string, AnyAgent>>

  constructor(agents: Readonly<Record<string, AnyAgent>>) {
    this.#agents = agents
  }

  get names(): string[] {
    return Object.keys(this.#agents)
  }

  find(name: string): AnyAgent | undefined {
    if (typeof name !== 'string')
      throw new ConfigurationError(
        `Pass the name of an agent, not the agent itself: the name under which openRuns has it, such as '${this.names[0] ?? 'agent'}'.`,
      )
    return Object.hasOwn(this.#agents, name) ? this.#agents[name] : undefined
  }

  get(name: string): AnyAgent {
    const agent = this.find(name)
    if (!agent) throw this.missing(name)
    return agent
  }

  /** Returns the given name, or that of the only agent. */
  choose(name: string | undefined): string {
    const [only, ...others] = this.names
    if (name === undefined && others.length > 0)
      throw new ConfigurationError(`Say which agent answers: ${this.names.join(', ')}.`)
    const chosen = name ?? only ?? ''
    this.get(chosen)
    return chosen
  }

  missing(name: string): ConfigurationError {
    return new ConfigurationError(`There is no agent "${name}". There are: ${this.names.join(', ')}.`)
  }
}

const isId = (id: unknown, longest = longestId): boolean =>
  typeof id === 'string' && id !== '' && id.length <= longest && !/\p{Cc}/u.test(id)

const longestId = 200

/** The longest id of a task, which is the id of its run, followed by those of its calls. */
const longestTaskId = 2000

/** Refuses an id that could not be shown or sent anywhere. */
export const checkId = (id: unknown): void => {
  if (!isId(id))
    throw new ConfigurationError(
      'An id must be a string of 1 to 200 characters, none of them a control character.',
    )
}

/** Refuses a value that cannot be the id of a run or of a task. */
export const checkKnownId = (id: unknown): void => {
  if (!isId(id, longestTaskId)) checkId(id)
}

/** Characters of a prompt that a list shows. */
const shownPrompt = 200

/** The beginning of a prompt, which may be any value: the run itself says what is wrong with it. */
export const promptText = (prompt: unknown): string => {
  if (typeof prompt === 'string') return prompt.slice(0, shownPrompt)
  if (!Array.isArray(prompt)) return ''
  const texts = prompt.map((part) => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
  return texts.join('').slice(0, shownPrompt)
}

/** The `context` of a run's tools, as it is stored. */
export const contextJson = (context: unknown): string | undefined => {
  if (context === undefined) return undefined
  try {
    return JSON.stringify(copyJson(context))
  } catch (cause) {
    throw new ConfigurationError(
      `The context of a stored run must be JSON: it holds ${describeThrown(cause)}. Make what cannot be stored in openRuns({ context }).`,
      { cause },
    )
  }
}

export const isDate = rule('a date', (value) => value instanceof Date && !Number.isNaN(value.getTime()))

export const isStatus = oneOf(...runStatuses)

/** The start of a run: its agent, and a digest of the rest, which is missing in runs of older releases. */
type Started = { agent: string; request: string | undefined }

/** Refuses a start under the id of a different run: the caller would get the answer to another prompt. */
export const checkSameStart = (known: Started & { id: string }, given: Started): void => {
  const isSame = known.agent === given.agent && (known.request ?? given.request) === given.request
  if (!isSame)
    throw new ConflictError(
      `There is a run "${known.id}" already, and it was started with another prompt, agent or option: give this one its own id, or read the other with runs.get("${known.id}").`,
    )
}

/** A short text for a value: equal values have the same one. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(stableJson(value)).digest('base64url')

export const commandConflict = (id: string): ConflictError =>
  new ConflictError(`Another command with the id "${id}" was sent before: give each its own.`)

export const unknownRun = (id: string): ConfigurationError =>
  new ConfigurationError(`There is no run "${id}".`)

/** Characters of a tag, and of the metadata of a run. */
const longestTag = 200
const mostMetadata = 100_000

const tag = rule(
  `a string of 1 to ${longestTag} characters`,
  (value) => typeof value === 'string' && value !== '' && value.length <= longestTag,
)

const isSmallJson = (value: unknown): boolean => {
  try {
    return isJsonObject(value) && JSON.stringify(copyJson(value)).length <= mostMetadata
  } catch {
    return false
  }
}

const startRules: Rules<StartOptions & { schema?: Schema }> = {
  // Checked by itself, as every id is.
  id: () => undefined,
  // The run itself says what is wrong with a message.
  history: listOf(object),
  context: () => undefined,
  system: text,
  limits: fields(limitRules),
  tags: listOf(tag),
  metadata: rule(`an object of JSON of at most ${mostMetadata} characters`, isSmallJson),
  schema: (name, value) => (Object(value) === value ? undefined : `${name} must be a schema.`),
}

const startPrompt = orWrite(
  rule('a string or a list of parts', (value) => typeof value === 'string' || Array.isArray(value)),
  () => "runs.start('agent', 'What is …?', options)",
)

/** Refuses a bad start of a stored run, before anything is stored. */
export const checkStart = (prompt: unknown, options: StartOptions & { schema?: Schema }): void => {
  checkSome('The options of a run', options, {
    signal: writtenAs('run.abort() where it must end: a stored run outlives its caller'),
  })
  checkOptions('The options of a run', options, startRules)
  // A history may end with the question.
  if (prompt !== undefined || !options.history?.length) checkValue('The prompt', prompt, startPrompt)
}

/** Time that running tools get when a store is closed. */
const usualDrainMs = 5000

/** Reads the options of `close`. */
export const drainOf = (options: NonNullable<Parameters<Runs['close']>[0]> = {}): number => {
  checkOptions<NonNullable<Parameters<Runs['close']>[0]>>('The options of close', options, { drain: amount })
  return options.drain ?? usualDrainMs
}

/** Reads the options of `list`. */
export const checkList = (options: NonNullable<Parameters<Runs['list']>[0]>): void =>
  checkOptions<NonNullable<Parameters<Runs['list']>[0]>>('The options of list', options, {
    parent: text,
    status: isStatus,
    agent: text,
    tag,
    limit: wholeFrom(1),
    before: text,
  })

/** Reads the options of `stream`. */
export const checkStream = (options: NonNullable<Parameters<DurableRun['stream']>[0]>): void =>
  checkOptions<typeof options>('The options of stream', options, {
    after: () => undefined,
    signal: having('addEventListener'),
  })

/** Reads the options of `fork`. */
export const checkFork = (options: NonNullable<Parameters<Runs['fork']>[1]>): void =>
  checkOptions<typeof options>('The options of fork', options, {
    atStep: wholeFrom(1),
    agent: text,
    // Checked by itself, as every id is.
    id: () => undefined,
  })

/** Reads the options of `chat`. */
export const checkChat = (options: { agent?: string }): void =>
  checkOptions<typeof options>('The options of chat', options, { agent: () => undefined })

/** Reads the options of a turn of a chat. */
export const checkTurn = (options: TurnOptions): void =>
  checkOptions<TurnOptions>('The options of a turn', options, {
    id: () => undefined,
    context: () => undefined,
    metadata: object,
  })

/** Reads the options of `wake`. */
export const checkWake = (options: WakeOptions): void => {
  checkOptions<WakeOptions>('The options of wake', options, {
    at: isDate,
    message: text,
    commandId: rule('an id of 1 to 200 characters', (id) => isId(id)),
  })
  checkValue('The options of wake', options, member('at', isDate))
}

/** Reads the id of a command. */
export const commandIdOf = (options: NonNullable<Parameters<Runs['send']>[2]> = {}): string | undefined => {
  checkOptions<NonNullable<Parameters<Runs['send']>[2]>>('The options of send', options, {
    commandId: rule('an id of 1 to 200 characters', (id) => isId(id)),
  })
  return options.commandId
}
