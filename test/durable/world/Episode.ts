import { setTimeout as pause } from 'node:timers/promises'
import type { AgentCommand } from '../../../machines/agent/events.ts'
import type { PendingCall } from '../../../src/messages/result.ts'
import type { Dice } from '../../proof/dice.ts'
import type { RunPlan } from './plan.ts'
import { StreamReader } from './StreamReader.ts'
import { Refused, WorkerDied, type WorkerHandle } from './WorkerHandle.ts'
import type { Staff } from './Workers.ts'
import type { Outcome, StreamItem, WorkerStatus } from './workerRuns.ts'

/** A command that was sent to a run: acknowledged, refused, or the worker died before it could answer. */
export type SentCommand = {
  command: AgentCommand
  came: 'surely' | 'never' | 'perhaps'
  /** Says whether it is about a call in doubt: to run it again, or what its result is. */
  inDoubt: boolean
}

/** The course of one run, as seen by those who started it, decided for it and read it. */
export type Evidence = {
  plan: RunPlan
  isStarted: boolean
  sent: SentCommand[]
  readers: StreamReader[]
  outcome: Outcome | undefined
  /** The status of a run that did not come to its end. */
  status: WorkerStatus | undefined
  /** Requests that were refused, or ended, though they should not. */
  surprises: string[]
}

/** Workers that may start a run, and those that may be asked for anything else. */
export type EpisodeStaff = { starters: Staff; anyone: Staff }

/** The course of one run from outside: started, read by two, decided on, at times steered or aborted, until it is over. */
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
      sent: [],
      readers: [],
      outcome: undefined,
      status: undefined,
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

  /** Looks at a run that should be over by now. */
  async look(): Promise<void> {
    const { plan, outcome } = this.evidence
    if (!outcome) this.evidence.status = await this.#ask((worker) => worker.ask('info', { id: plan.id }))
  }

  /** Asks one worker after the other, until one lives long enough to answer. */
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
      await Promise.all(reader.waitsFor.map((call) => this.#decide(call)))
      if (isWhole && reader.finish === undefined && reader.waitsFor.length === 0)
        throw new Error(`a stream ended at ${reader.cursor}, and the run had not`)
    }
  }

  /** Reads, and says whether it came to the end of the stream: it leaves before that now and then, or its worker dies. */
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
   * Each question is decided on once, by the reader that sees it first. A decision that is sent again, since the worker that took
   * it died, carries its question: the call may be in doubt again by then, and a second yes would run it a third time.
   */
  async #decide({ id: callId, inDoubt, question }: PendingCall): Promise<void> {
    if (question === undefined) throw new Error(`The call ${callId} waits, and has no question.`)
    if (this.#decided.has(question)) return
    this.#decided.add(question)
    const yes: AgentCommand = { type: 'tool.approve', callId, question }
    const no: AgentCommand = { type: 'tool.reject', callId, question }
    const settled: AgentCommand = { type: 'tool.answer', callId, question, result: `settled ${callId}` }
    if (inDoubt) await this.#send(this.#dice.pick([yes, yes, no, settled]), true)
    else await this.#send(this.#dice.chance(0.75) ? yes : no)
  }

  /** Says something until it is acknowledged; but not again what would then count twice. */
  async #send(command: AgentCommand, inDoubt = false): Promise<void> {
    const sent: SentCommand = { command, came: 'perhaps', inDoubt }
    this.evidence.sent.push(sent)
    for (let attempt = 1; ; attempt += 1) {
      try {
        const worker = await this.#staff.anyone.any()
        await worker.ask('send', { id: this.evidence.plan.id, command })
        sent.came = 'surely'
        return
      } catch (thrown) {
        if (thrown instanceof Refused) return this.#refused(sent, attempt, thrown)
        if (!(thrown instanceof WorkerDied)) throw thrown
        if (command.type === 'steer') return
      }
    }
  }

  /** Checks a refusal: only a repeated command may be refused, and one that comes after the end. */
  #refused(sent: SentCommand, attempt: number, { message }: Refused): void {
    const { type } = sent.command
    if (attempt === 1) sent.came = 'never'
    const mayBeOver =
      type === 'steer' ||
      type === 'abort' ||
      sent.inDoubt ||
      this.evidence.sent.some(({ command }) => command.type === 'abort')
    if (attempt === 1 && !mayBeOver) this.evidence.surprises.push(`${type} was refused: ${message}`)
  }

  /** Some runs are steered, a few are aborted. */
  async #interfere(): Promise<void> {
    const { id } = this.evidence.plan
    if (this.#dice.chance(0.2)) {
      await pause(this.#dice.below(500))
      await this.#send({ type: 'steer', text: `Steered: ${id}.` })
    }
    if (this.#dice.chance(0.06)) {
      await pause(this.#dice.below(500))
      await this.#send({ type: 'abort', reason: 'enough' })
    }
  }
}
