import type { AnyAgent } from '../agent/Agent.ts'
import { ConfigurationError } from '../messages/errors.ts'

/** Who may run, by name. */
export class Agents {
  readonly #agents: Readonly<Record<string, AnyAgent>>

  constructor(agents: Readonly<Record<string, AnyAgent>>) {
    this.#agents = agents
  }

  /** Whether no agent may run here. */
  get areNone(): boolean {
    return Object.keys(this.#agents).length === 0
  }

  find(name: string): AnyAgent | undefined {
    return Object.hasOwn(this.#agents, name) ? this.#agents[name] : undefined
  }

  get(name: string): AnyAgent {
    const agent = this.find(name)
    if (!agent) throw this.missing(name)
    return agent
  }

  /** The name that was given, or that of the only agent. */
  choose(name: string | undefined): string {
    const [only, ...others] = Object.keys(this.#agents)
    if (name === undefined && others.length > 0)
      throw new ConfigurationError(`Say which agent answers: ${this.#names}.`)
    const chosen = name ?? only ?? ''
    this.get(chosen)
    return chosen
  }

  missing(name: string): ConfigurationError {
    return new ConfigurationError(`There is no agent "${name}" in agents: ${this.#names}.`)
  }

  get #names(): string {
    return Object.keys(this.#agents).join(', ')
  }
}
