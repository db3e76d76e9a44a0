import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { build } from 'esbuild'
import { fromRegistry } from '../fromRegistry.ts'

const runtime = await fromRegistry('workerd', '1.20261110.1')

/** Why there is no worker runtime here, if there is none. */
export const missingRuntime = 'problem' in runtime ? runtime.problem : undefined

/** The worker may reach this machine: the providers of the tests are here. */
const config = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2025-11-01",
      globalOutbound = "network",
    )),
    (name = "network", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`

/** A worker in Cloudflare's runtime: nothing of Node is there. */
export class Workerd {
  url = ''
  readonly #process: ChildProcess
  readonly #folder: string
  #errors = ''

  /** Bundles a worker as its users do, and serves it. */
  static async serve(entry: string): Promise<Workerd> {
    if ('problem' in runtime) throw new Error(runtime.problem)
    const folder = mkdtempSync(join(tmpdir(), 'statewire-worker-'))
    await build({
      entryPoints: [entry],
      outfile: join(folder, 'worker.js'),
      bundle: true,
      format: 'esm',
      platform: 'browser',
      // As `browser` in package.json says to bundlers of the published package.
      alias: { undici: './test/workers/empty.ts' },
      logLevel: 'silent',
    })
    writeFileSync(join(folder, 'config.capnp'), config)
    const worker = new Workerd(join(runtime.folder, '../.bin/workerd'), folder)
    await worker.#isReady()
    return worker
  }

  constructor(binary: string, folder: string) {
    this.#folder = folder
    this.#process = spawn(binary, ['serve', '--control-fd=3', 'config.capnp'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    })
    this.#process.stderr?.on('data', (text) => {
      this.#errors += text
    })
  }

  /** What the runtime complained about. */
  get errors(): string {
    return this.#errors
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill('SIGKILL')
    await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Reads the port, which the runtime chose, from its control pipe. */
  async #isReady(): Promise<void> {
    let reported = ''
    const control = this.#process.stdio[3]
    if (!(control instanceof Readable)) throw new Error('workerd has no control pipe.')
    for await (const text of control) {
      reported += text
      const port = /"event":"listen".*"port":(\d+)/.exec(reported)?.[1]
      if (port === undefined) continue
      this.url = `http://127.0.0.1:${port}/`
      return
    }
    throw new Error(`workerd ended: ${this.#errors}`)
  }
}
