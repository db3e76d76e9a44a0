import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { buildScripts } from '../../buildScripts.ts'

let script = ''

/** Makes the script of a worker, for a test file. */
export const buildWorker = async (file: string): Promise<void> => {
  ;({ worker: script } = await buildScripts(`dbos-${file}`, { worker: 'test/dbos/world/worker.ts' }))
}

/** Workers as processes that can be killed. */
export class Workers {
  readonly #args: string[]
  readonly #running = new Set<ChildProcess>()
  kills = 0

  constructor(databaseUrl: string, modelUrl: string, log: string, maxRecoveries = 1000) {
    this.#args = [databaseUrl, modelUrl, log, String(maxRecoveries)]
  }

  /** Resolves when it is at work. */
  async start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [script, ...this.#args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#running.add(child)
    child.on('exit', () => this.#running.delete(child))
    let said = ''
    for await (const piece of child.stdout) {
      said += piece
      if (said.includes('ready')) return child
    }
    throw new Error(`A worker ended before it was ready: ${said}`)
  }

  /** `kill -9`: nothing of it is left to say goodbye. */
  async kill(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    this.kills += 1
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.kill(child)))
  }
}
