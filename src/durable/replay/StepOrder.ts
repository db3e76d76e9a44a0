import type { AnyActorRef } from 'xstate'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import { factsOf } from '../../../machines/agent/states.ts'
import type { NumberedCommand, ReplayEngine } from './engine.ts'

/** A record of the order: its name, and the commands that the chart gets at its place. */
export type OrderPlace = { name: string; commands: readonly NumberedCommand[] }

/** A step in which a model is asked: the stream shows its answer as it comes, or it is one of a background agent. */
export type AskingStep = 'shown' | 'task'

/** A record of what comes next in a segment: the result of a step, or a moment, with the commands that come before it. */
type NextRecord = { step?: string; at?: number; commands: NumberedCommand[] }

/** The part of a run that its order belongs to. */
type OrderedRun = {
  /** The name of the n-th record of the order. */
  nameOf(n: number): string
  /** The number of the last command that the chart got. */
  seen(): number
  now(): number
  /** Sets the time to a moment that has come. */
  setTime(at: number): void
  deliver(place: OrderPlace): void
  /** Says whether the segment is about to end: nothing comes next. */
  isAtRest(): boolean
  /** Called when the chart has taken what came. */
  onSettled(): void
  onBroken(error: unknown): void
}

type HeldTimer = { at: number; fire(): void }

/** Time between two looks for commands. */
const lookEveryMs = 500

/**
 * The order in which a run gets the results of steps that are under way side by side. Background agents end in any order,
 * and the model sees their results in it: so each result, and each moment that timers wait for, is recorded as the next one before
 * the chart gets it. A replay gives the chart the same results in the same order.
 */
export class StepOrder {
  readonly #engine: ReplayEngine
  readonly #run: OrderedRun
  readonly #ready = new Map<string, (place: OrderPlace) => void>()
  /** The steps whose results the chart does not have yet. */
  readonly #open = new Map<string, AskingStep | undefined>()
  readonly #timers = new Set<HeldTimer>()
  #count = 0
  #isRunning = false
  #isOver = false
  #onChange: (() => void)[] = []

  constructor(engine: ReplayEngine, run: OrderedRun) {
    this.#engine = engine
    this.#run = run
  }

  /** The number of records that the chart has come to. */
  get count(): number {
    return this.#count
  }

  /** Follows a step: its result is taken when it is the next one. */
  follow<T>(
    name: string,
    asking: AskingStep | undefined,
    record: Promise<T>,
    take: (found: T, place: OrderPlace) => void,
  ): void {
    this.#open.set(name, asking)
    record
      .then((found) => {
        this.#ready.set(name, (place) => {
          this.#open.delete(name)
          this.#ready.delete(name)
          take(found, place)
        })
        this.#changed()
      })
      .catch(this.#run.onBroken)
    this.#look()
  }

  /** Keeps the timer of a run that waits, and returns what drops it. Any other timer is one of the clock. */
  hold(at: number, run: AnyActorRef, fire: () => void): (() => void) | undefined {
    if (!factsOf(run.getSnapshot().value)?.waitsFor) return undefined
    const timer = { at, fire }
    this.#timers.add(timer)
    this.#changed()
    this.#look()
    return () => void this.#timers.delete(timer)
  }

  stop(): void {
    this.#isOver = true
    this.#changed()
  }

  #look(): void {
    if (this.#isRunning || this.#isOver) return
    this.#isRunning = true
    this.#play().catch(this.#run.onBroken)
  }

  async #play(): Promise<void> {
    for (;;) {
      do await settled()
      while (this.#fireDue())
      if (this.#isOver) return
      this.#run.onSettled()
      if (this.#open.size === 0 && (this.#timers.size === 0 || this.#run.isAtRest())) break
      await this.#next()
    }
    this.#isRunning = false
  }

  /** Fires the first timer whose moment has come, by the recorded time. */
  #fireDue(): boolean {
    const due = this.#nextTimer()
    if (this.#isOver || !due || due.at > this.#run.now()) return false
    this.#timers.delete(due)
    due.fire()
    return true
  }

  async #next(): Promise<void> {
    const name = this.#run.nameOf(this.#count + 1)
    const { step, at, commands } = await this.#engine.step(name, () => this.#first())
    if (this.#isOver) return
    this.#count += 1
    if (at !== undefined) this.#run.setTime(at)
    if (step === undefined) return this.#run.deliver({ name, commands })
    // A replay may still be on its way to this step.
    for (;;) {
      if (this.#isOver) return
      const take = this.#ready.get(step)
      if (take) return take({ name, commands })
      await this.#change()
    }
  }

  /** Waits for whatever comes first: the body of a record. */
  async #first(): Promise<NextRecord> {
    while (!this.#isOver) {
      const [step] = this.#ready.keys()
      if (step !== undefined) return { step, commands: await this.#takeable(step) }
      const change = this.#change()
      const commands = await this.#takeable()
      const now = Date.now()
      const { at = Number.POSITIVE_INFINITY } = this.#nextTimer() ?? {}
      // A decision that came before its call expired counts.
      if (at <= now) return { at: now, commands }
      if (commands.length > 0) return { commands }
      await either(change, Math.min(lookEveryMs, at - now))
    }
    return await new Promise<never>(() => {})
  }

  /**
   * The commands that the chart may get now, with the result of a step. One that cuts an answer off comes with the end of
   * that answer: what was shown of it is in no record before.
   */
  async #takeable(step?: string): Promise<NumberedCommand[]> {
    const commands = await this.#engine.commands(this.#run.seen()).catch(() => [])
    const asking = [...this.#open].filter(([name, kind]) => kind && name !== step)
    const first = commands.findIndex(({ command }) =>
      asking.some(([name, kind]) => cuts(command, name, kind)),
    )
    return first < 0 ? commands : commands.slice(0, first)
  }

  #nextTimer(): HeldTimer | undefined {
    return [...this.#timers].reduce<HeldTimer | undefined>(
      (first, each) => (first && first.at <= each.at ? first : each),
      undefined,
    )
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange.push(resolve)
    })
  }

  #changed(): void {
    for (const each of this.#onChange.splice(0)) each()
  }
}

/** Says whether a command would end an answer that is coming in, by the name of its step. */
const cuts = (command: AgentCommand, step: string, kind: AskingStep | undefined): boolean => {
  if (command.type === 'task.command')
    return kind === 'task' && step.includes(`/${command.task}/`) && isUrgent(command)
  return kind === 'shown' && (command.type === 'abort' || isUrgent(command))
}

const isUrgent = (command: AgentCommand): boolean =>
  command.type === 'task.command'
    ? isUrgent(command.command)
    : command.type === 'message' && command.when === 'now'

/** Resolves when everything that a result has led to has happened. */
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve))

const either = async (change: Promise<void>, ms: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const later = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([change, later])
  clearTimeout(timer)
}
