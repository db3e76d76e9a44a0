import type { AnyAgent } from '../agent/Agent.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject } from '../messages/json.ts'
import { oneOf, rule } from '../messages/optionRules.ts'
import { runStatuses } from './runs.ts'

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
    return Object.hasOwn(this.#agents, name) ? this.#agents[name] : undefined
  }

  get(name: string): AnyAgent {
    const agent = this.find(name)
    if (!agent) throw this.missing(name)
    return agent
  }

  /** Returns the name that was given, or that of the only agent. */
  choose(name: string | undefined): string {
    const [only, ...others] = this.names
    if (name === undefined && others.length > 0)
      throw new ConfigurationError(`Say which agent answers: ${this.names.join(', ')}.`)
    const chosen = name ?? only ?? ''
    this.get(chosen)
    return chosen
  }

  missing(name: string): ConfigurationError {
    return new ConfigurationError(`There is no agent "${name}" in agents: ${this.names.join(', ')}.`)
  }
}

/** Refuses an id that could not be shown or sent anywhere. */
export const checkId = (id: unknown): void => {
  if (typeof id !== 'string' || id === '' || id.length > 200 || /\p{Cc}/u.test(id))
    throw new ConfigurationError('An id must be 1 to 200 characters, none of them a control character.')
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

export const unknownRun = (id: string): ConfigurationError =>
  new ConfigurationError(`There is no run "${id}".`)
