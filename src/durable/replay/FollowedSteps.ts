import type { AnyActorRef } from 'xstate'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import { decisionsLast } from '../commands.ts'
import type { NumberedCommand, ReplayEngine } from './engine.ts'
import { mayFire } from './rests.ts'
import { type AskingStep, type OrderPlace, StepOrder } from './StepOrder.ts'

/** Data that ends of a segment that were not the last one leave for the next attempt at it. */
export type EarlierEnds = {
  /** Commands that came too late for a step: the chart gets them with its result, by the name of the step. */
  late: Map<string, NumberedCommand[]>
  /** The place in the order at which each of them was. */
  places: number[]
}

/** The part of a run that its steps belong to. */
type SteppingRun = {
  send(command: AgentCommand): void
  /** Called when the chart may have come to an end or a wait. */
  onChange(): void
  /** Called when the chart has taken a result that is new. */
  onStep(): void
  /** Says whether the segment is about to end: nothing comes next. */
  isAtRest(): boolean
  onBroken(error: unknown): void
}

type Beginning = { seen: number; at: number; isOrdered: boolean }

/** The steps of a segment: which are under way, which was the last one, and the commands and the time that came with it. */
export class FollowedSteps {
  readonly #run: SteppingRun
  readonly #earlier: EarlierEnds
  readonly #names = new Map<string, number>()
  /** The order of the results, where background agents may work side by side. */
  readonly #order: StepOrder | undefined
  /** The number of the last command that the chart got. */
  seen: number
  /** The time of the last step. */
  now: number
  /** Steps under way. */
  open = 0
  /** The place of the last result that the chart got. */
  #last = 'begin'
  #isFresh = false
  #isOver = false

  constructor(
    engine: ReplayEngine,
    { seen, at, isOrdered }: Beginning,
    earlier: EarlierEnds,
    run: SteppingRun,
  ) {
    this.#run = run
    this.#earlier = earlier
    this.seen = seen
    this.now = at
    this.#order = isOrdered ? new StepOrder(engine, this.#ordered()) : undefined
  }

  /** Makes a unique name for each step: an answer that is asked for again is another step. */
  unused(name: string): string {
    const nth = (this.#names.get(name) ?? 0) + 1
    this.#names.set(name, nth)
    return nth === 1 ? name : `${name} (${nth})`
  }

  /** Follows a step to its result, and the commands that the chart gets with it. */
  follow<T extends object>(
    name: string,
    record: Promise<T>,
    take: (found: T, commands: readonly NumberedCommand[]) => void,
    asking?: AskingStep,
  ): void {
    this.open += 1
    const taken = (found: T, place: OrderPlace) => {
      if (!this.#isOver) {
        this.#last = place.name
        take(found, place.commands)
      }
      this.open -= 1
      this.#run.onChange()
    }
    const commandsOf = (found: { commands?: readonly NumberedCommand[] }) => found.commands ?? []
    if (this.#order) this.#order.follow(name, asking, record, taken)
    else record.then((found) => taken(found, { name, commands: commandsOf(found) })).catch(this.#run.onBroken)
  }

  /** Gives the chart the commands that were recorded at the last place, and those that came too late for it. */
  deliver(commands: readonly NumberedCommand[]): void {
    const late = this.#earlier.late.get(this.#last) ?? []
    const fresh = [...commands, ...late].filter(({ number }) => number > this.seen)
    this.seen = Math.max(this.seen, ...fresh.map(({ number }) => number))
    for (const { command } of decisionsLast(fresh)) this.#run.send(command)
  }

  /** Reports that something new was recorded, when the chart has taken it. */
  report(): void {
    if (this.#order) this.#isFresh = true
    else this.#run.onStep()
  }

  /** Keeps a timer, unless it is one of the clock. */
  timer(at: number, run: AnyActorRef, fire: () => void): (() => void) | undefined {
    if (this.#order) return this.#order.hold(at, run, fire)
    return mayFire(at, run, this.now) ? undefined : () => {}
  }

  /** Keeps commands that were acknowledged and came too late: the next attempt gets them where this one was. */
  keep(commands: readonly NumberedCommand[]): void {
    const { late, places } = this.#earlier
    late.set(this.#last, [...(late.get(this.#last) ?? []), ...commands])
    if (this.#order) places.push(this.#order.count)
  }

  /** Takes nothing more. */
  stop(): void {
    this.#isOver = true
    this.#order?.stop()
  }

  #ordered(): ConstructorParameters<typeof StepOrder>[1] {
    return {
      // An attempt goes the way of the one before it, up to the end of that one.
      nameOf: (n) => {
        const attempt = 1 + this.#earlier.places.filter((end) => end < n).length
        return attempt === 1 ? `next ${n}` : `next ${n} (${attempt})`
      },
      seen: () => this.seen,
      now: () => this.now,
      setTime: (at) => {
        this.now = at
      },
      deliver: ({ name, commands }) => {
        this.#last = name
        this.deliver(commands)
      },
      isAtRest: this.#run.isAtRest,
      onSettled: () => {
        if (this.#isFresh) this.#run.onStep()
        this.#isFresh = false
        this.#run.onChange()
      },
      onBroken: this.#run.onBroken,
    }
  }
}
