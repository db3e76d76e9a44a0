import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { build } from 'tsup'

// Below node_modules, so that the script finds its packages; beside dist, because that one belongs to the build.
const outDir = join('node_modules', '.cache', 'statewire-dbos')

/** Makes the script of a worker. */
export const buildWorker = async (): Promise<void> => {
  await build({
    entry: ['test/dbos/world/worker.ts'],
    outDir,
    format: 'esm',
    outExtension: () => ({ js: '.mjs' }),
    target: 'node20',
    splitting: false,
    dts: false,
    clean: false,
    silent: true,
    config: false,
  })
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
    const child = spawn(process.execPath, [join(outDir, 'worker.mjs'), ...this.#args], {
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
