import type { InspectionEvent } from 'xstate'
import { type Charted, nameOf, transitionsOf } from '../visualize/transitions.ts'

/**
 * Counts which transitions of a machine were taken: each guard alternative, `always`, `after`, `onDone` and `onError`
 * counts separately. Give `inspect` to the actors that run the machine.
 *
 * @example
 * const coverage = new TransitionCoverage(machine)
 * createActor(machine, { inspect: coverage.inspect }).start()
 * coverage.report() // 'light: 3/4 transitions; never taken: light.red on POWER_CUT'
 */
export class TransitionCoverage {
  readonly #machine: Charted
  readonly #taken = new Map<string, number>()

  constructor(machine: Charted) {
    this.#machine = machine
    for (const name of transitionsOf(machine).keys()) this.#taken.set(name, 0)
  }

  /** The `inspect` for actors that run the machine. */
  readonly inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.microstep' || !this.#runsMachine(event.actorRef)) return
    for (const transition of event._transitions) {
      const name = nameOf(transition)
      const count = this.#taken.get(name)
      // The start of a machine is a microstep without a transition of the chart.
      if (count !== undefined) this.#taken.set(name, count + 1)
    }
  }

  /** The number of times that each transition was taken, by name. */
  get counts(): ReadonlyMap<string, number> {
    return this.#taken
  }

  /** The names of the transitions that were never taken. */
  get missing(): string[] {
    return [...this.#taken].filter(([, count]) => count === 0).map(([name]) => name)
  }

  /** Summarises in one line how many were taken, and which were not. */
  report(): string {
    const total = this.#taken.size
    const missing = this.missing
    const tail = missing.length > 0 ? `; never taken: ${missing.join(', ')}` : ''
    return `${this.#machine.id}: ${total - missing.length}/${total} transitions${tail}`
  }

  #runsMachine(ref: object): boolean {
    return 'logic' in ref && (ref.logic as { id?: unknown }).id === this.#machine.id
  }
}
