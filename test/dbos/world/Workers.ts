import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { buildScripts } from '../../buildScripts.ts'

let script = ''

/** Makes the script of a worker, for a test file. */
export const buildWorker = async (file: string): Promise<void> => {
  ;({ worker: script } = await buildScripts(`dbos-${file}`, { worker: 'test/dbos/world/worker.ts' }))
}

/** A worker: `ended` resolves with how it ended, at any time after that. */
export type Worker = { process: ChildProcess; ended: Promise<unknown> }

/** Workers as processes that can be killed. */
export class Workers {
  readonly #args: string[]
  readonly #running = new Set<Worker>()
  /** Workers that were killed or stopped. */
  kills = 0

  constructor(databaseUrl: string, modelUrl: string, log: string, maxRecoveries = 1000) {
    this.#args = [databaseUrl, modelUrl, log, String(maxRecoveries)]
  }

  /** Resolves when it is at work. */
  async start(): Promise<Worker> {
    const child = spawn(process.execPath, [script, ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const worker = { process: child, ended: once(child, 'exit') }
    this.#running.add(worker)
    worker.ended.then(() => this.#running.delete(worker))
    let said = ''
    // It may report errors later: without a reader of its output it would end.
    for await (const piece of child.stdout.iterator({ destroyOnReturn: false })) {
      said += piece
      if (!said.includes('ready')) continue
      child.stdout.resume()
      return worker
    }
    throw new Error(`A worker ended before it was ready: ${said}`)
  }

  /** `kill -9`: nothing of it is left to say goodbye. */
  async kill(worker: Worker): Promise<void> {
    worker.process.kill('SIGKILL')
    const [code, signal] = [await worker.ended].flat()
    if (signal !== 'SIGKILL') throw new Error(`A worker had ended by itself, with code ${code}.`)
    this.kills += 1
  }

  /** Stops it as a deploy does. */
  async end(worker: Worker): Promise<void> {
    worker.process.kill('SIGTERM')
    const [code, signal] = [await worker.ended].flat()
    if (code !== 0) throw new Error(`A worker that was stopped ended with ${signal ?? code}.`)
    this.kills += 1
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((worker) => this.kill(worker)))
  }
}
