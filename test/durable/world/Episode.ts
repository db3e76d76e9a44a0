import { setTimeout as pause } from 'node:timers/promises'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import type { Dice } from '../../proof/dice.ts'
import type { Outcome, Standing, StreamItem } from './keptRuns.ts'
import type { RunPlan } from './plan.ts'
import { StreamReader } from './StreamReader.ts'
import { Refused, WorkerDied, type WorkerHandle } from './WorkerHandle.ts'
import type { Staff } from './Workers.ts'

/** What somebody told a run: acknowledged, refused, or the worker died before it could answer. */
export type Told = {
  command: AgentCommand
  came: 'surely' | 'never' | 'perhaps'
  /** It is about a call in doubt: whether to run it again, or what its result is. */
  inDoubt: boolean
}

/** How one run went, as those saw it who started it, decided for it and read it. */
export type Evidence = {
  plan: RunPlan
  isStarted: boolean
  told: Told[]
  readers: StreamReader[]
  outcome: Outcome | undefined
  /** Where a run stands that did not come to its end. */
  standing: Standing | undefined
  /** What was refused, or ended, though it should not. */
  surprises: string[]
}

/** Who may start a run, and who may be asked for anything else. */
export type EpisodeStaff = { starters: Staff; anyone: Staff }

/** The incarnation of one run from outside: started, read by two, decided on, at times steered or aborted, until it is over. */
export class Episode {
  readonly evidence: Evidence
  readonly #staff: EpisodeStaff
  readonly #dice: Dice
  readonly #decided = new Set<string>()

  constructor(plan: RunPlan, staff: EpisodeStaff, dice: Dice) {
    this.#staff = staff
    this.#dice = dice
    this.evidence = {
      plan,
      isStarted: false,
      told: [],
      readers: [],
      outcome: undefined,
      standing: undefined,
      surprises: [],
    }
  }

  async play(): Promise<void> {
    const { plan } = this.evidence
    await this.#ask((worker) => worker.ask('start', { plan }), this.#staff.starters)
    this.evidence.isStarted = true
    await Promise.all([this.#read(), this.#read(), this.#interfere()])
    this.evidence.outcome = await this.#ask((worker) => worker.ask('outcome', { id: plan.id }))
  }

  /** Looks at what became of a run that should be over by now. */
  async look(): Promise<void> {
    const { plan, outcome } = this.evidence
    if (!outcome) this.evidence.standing = await this.#ask((worker) => worker.ask('info', { id: plan.id }))
  }

  /** Asks one worker after the other, until one incarnations long enough to answer. */
  async #ask<T>(ask: (worker: WorkerHandle) => Promise<T>, staff = this.#staff.anyone): Promise<T> {
    for (;;) {
      try {
        return await ask(await staff.any())
      } catch (thrown) {
        if (!(thrown instanceof WorkerDied)) throw thrown
      }
    }
  }

  /** Reads to the end: through any worker, which may die, and leaves it now and then by itself. */
  async #read(): Promise<void> {
    const reader = new StreamReader()
    this.evidence.readers.push(reader)
    while (reader.finish === undefined) {
      const isWhole = await this.#readFrom(await this.#staff.anyone.any(), reader)
      await Promise.all(reader.waitsFor.map((call) => this.#decide(call, reader.cursor)))
      if (isWhole && reader.finish === undefined && reader.waitsFor.length === 0)
        throw new Error(`a stream ended at ${reader.cursor}, and the run had not`)
    }
  }

  /** Whether it read to the end of the stream: it leaves before that now and then, or its worker dies. */
  async #readFrom(worker: WorkerHandle, reader: StreamReader): Promise<boolean> {
    let left = this.#dice.chance(0.4) ? 1 + this.#dice.below(20) : Number.POSITIVE_INFINITY
    const take = (item: StreamItem, stream: number) => {
      if (left === 0) return
      left -= 1
      reader.take(item)
      // A worker that dies meanwhile has ended the stream, too.
      if (left === 0) worker.ask('leave', { stream }).catch(() => {})
    }
    try {
      await worker.ask('stream', { id: this.evidence.plan.id, after: reader.cursor }, take)
      return left > 0
    } catch (thrown) {
      if (thrown instanceof WorkerDied) return false
      throw thrown
    }
  }

  /**
   * Each call is decided on once, by whoever hears of it first; one that is in doubt as often as the run says so: it may be
   * again.
   */
  async #decide({ id: callId, inDoubt }: PendingCall, cursor: string | undefined): Promise<void> {
    const key = inDoubt ? `${callId} at ${cursor}` : callId
    if (this.#decided.has(key)) return
    this.#decided.add(key)
    const yes: AgentCommand = { type: 'tool.approve', callId }
    const no: AgentCommand = { type: 'tool.reject', callId }
    const settled: AgentCommand = { type: 'tool.answer', callId, result: `settled ${callId}` }
    if (inDoubt) await this.#tell(this.#dice.pick([yes, no, settled]), true)
    else await this.#tell(this.#dice.chance(0.75) ? yes : no)
  }

  /** Says something until it is acknowledged; but not again what would then count twice. */
  async #tell(command: AgentCommand, inDoubt = false): Promise<void> {
    const told: Told = { command, came: 'perhaps', inDoubt }
    this.evidence.told.push(told)
    for (let attempt = 1; ; attempt += 1) {
      try {
        const worker = await this.#staff.anyone.any()
        await worker.ask('send', { id: this.evidence.plan.id, command })
        told.came = 'surely'
        return
      } catch (thrown) {
        if (thrown instanceof Refused) return this.#refused(told, attempt, thrown)
        if (!(thrown instanceof WorkerDied)) throw thrown
        if (command.type === 'steer') return
      }
    }
  }

  /** Only what was said before may be refused, and what comes after the end. */
  #refused(told: Told, attempt: number, { message }: Refused): void {
    const { type } = told.command
    if (attempt === 1) told.came = 'never'
    const mayBeOver =
      type === 'steer' ||
      type === 'abort' ||
      told.inDoubt ||
      this.evidence.told.some(({ command }) => command.type === 'abort')
    if (attempt === 1 && !mayBeOver) this.evidence.surprises.push(`${type} was refused: ${message}`)
  }

  /** Some runs are steered, a few are aborted. */
  async #interfere(): Promise<void> {
    const { id } = this.evidence.plan
    if (this.#dice.chance(0.2)) {
      await pause(this.#dice.below(500))
      await this.#tell({ type: 'steer', text: `Steered: ${id}.` })
    }
    if (this.#dice.chance(0.06)) {
      await pause(this.#dice.below(500))
      await this.#tell({ type: 'abort', reason: 'enough' })
    }
  }
}
