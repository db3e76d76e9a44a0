import type { NumberedCommand, ReplayEngine } from './replay.ts'

const lookEveryMs = 500

/**
 * Looks for commands while a step is under way: an abort cuts the step short, and all that have come are recorded with it. So
 * a replay gives them to the chart at the same place.
 */
export class CommandWatch {
  readonly #look: () => Promise<NumberedCommand[]>
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  #cut: () => void = () => {}
  /** Resolves when an abort has come. */
  readonly aborted = new Promise<void>((resolve) => {
    this.#cut = resolve
  })

  constructor({ commands }: Pick<ReplayEngine, 'commands'>, after: number) {
    this.#look = () => commands(after)
    void this.#watch()
  }

  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  /** Ends it, and gives what has come. What cannot be looked up now is there for the next step. */
  async come(): Promise<NumberedCommand[]> {
    this.stop()
    return await this.#look().catch(() => [])
  }

  async #watch(): Promise<void> {
    const come = await this.#look().catch((): NumberedCommand[] => [])
    if (hasAbort(come)) this.#cut()
    else if (!this.#isOver) this.#timer = setTimeout(() => void this.#watch(), lookEveryMs)
  }
}

export const hasAbort = (commands: readonly NumberedCommand[]): boolean =>
  commands.some(({ command }) => command.type === 'abort')
