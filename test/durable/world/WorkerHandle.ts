import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Report, RequestName, Requests } from './requests.ts'
import type { StreamItem } from './workerRuns.ts'

/** The worker was killed or stopped before it could answer: it is unknown whether it did what it was asked. */
export class WorkerDied extends Error {}

/** The worker answered that it cannot do what it was asked. */
export class Refused extends Error {}

/** Refusals that pass: the store was closed for a deploy, or holds a run that only another release can read. */
const passing = /were closed|newer release/

type Waiting = {
  resolve(answer: unknown): void
  reject(error: Error): void
  show(item: StreamItem): void
}

/** A worker as the one who asks and kills it sees it. */
export class WorkerHandle {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  #count = 0
  #isDead = false
  #isStopped = false
  #hasDroppedLocks = false
  #complaint = ''
  /** Resolves when the worker is dead, and all of its reports were read: with its last words, if it was not killed. */
  readonly died: Promise<string | undefined>

  constructor(script: string, modelUrl: string, node = process.execPath) {
    this.#process = fork(script, [modelUrl], { execPath: node, stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint += text
    })
    this.#process.on('message', (report: Report) => this.#onReport(report))
    this.died = this.#end()
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Says whether it was stopped: it ends its tools, and then itself. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Resolves with the answer; rejects with `Refused`, or with `WorkerDied`. */
  async ask<Name extends RequestName>(
    name: Name,
    ask: Requests[Name]['ask'],
    show: (item: StreamItem, number: number) => void = () => {},
  ): Promise<Requests[Name]['answer']> {
    if (this.#isDead) throw new WorkerDied()
    this.#hasDroppedLocks ||= name === 'dropLocks'
    this.#count += 1
    const number = this.#count
    return new Promise((resolve, reject) => {
      // What a request of this name is answered with is for the worker to know.
      const answered = (answer: unknown) => resolve(answer as Requests[Name]['answer'])
      this.#waiting.set(number, { resolve: answered, reject, show: (item) => show(item, number) })
      // A process that is gone takes nothing any more: its end wakes those who wait.
      this.#process.send({ number, do: name, ...ask }, () => {})
    })
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  /** Stops it as a deploy does. */
  stop(): void {
    this.#isStopped = true
    this.#process.kill('SIGTERM')
  }

  pause(): void {
    this.#process.kill('SIGSTOP')
  }

  continue(): void {
    this.#process.kill('SIGCONT')
  }

  #onReport(report: Report): void {
    const waiting = this.#waiting.get(report.number)
    if (report.says !== 'chunk') this.#waiting.delete(report.number)
    if (report.says === 'chunk') waiting?.show(report.item)
    else if (report.says === 'answer') waiting?.resolve(report.answer)
    else waiting?.reject(passing.test(report.problem) ? new WorkerDied() : new Refused(report.problem))
  }

  async #end(): Promise<string | undefined> {
    const [[code, signal]] = await Promise.all([
      once(this.#process, 'close'),
      once(this.#process, 'disconnect'),
    ])
    this.#isDead = true
    for (const { reject } of this.#waiting.values()) reject(new WorkerDied())
    this.#waiting.clear()
    // One that is stopped before it listens to signals ends by the signal.
    const isStopped = this.#isStopped && (code === 0 || signal === 'SIGTERM')
    // To a process that opens the file, the locks of one that has lost them do not exist: for a moment, SQLite cuts the index
    // of the log short, and the system kills whatever reads it.
    const isCutOff = this.#hasDroppedLocks && signal === 'SIGBUS'
    return signal === 'SIGKILL' || isStopped || isCutOff
      ? undefined
      : `exit ${code ?? signal}: ${this.#complaint.slice(-2000)}`
  }
}
