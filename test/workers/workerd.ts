import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { fromRegistry } from '../fromRegistry.ts'

const runtime = await fromRegistry('workerd', '1.20261110.1')

/** Why there is no worker runtime here, if there is none. */
export const missingRuntime = 'problem' in runtime ? runtime.problem : undefined

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/** The worker may reach this machine: the providers of the tests are here. */
const configFor = (port: number): string => `
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
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`

/** A worker in Cloudflare's runtime: nothing of Node is there. */
export class Workerd {
  readonly url: string
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
    const port = await freePort()
    writeFileSync(join(folder, 'config.capnp'), configFor(port))
    const worker = new Workerd(join(runtime.folder, '../.bin/workerd'), folder, port)
    await worker.#isReady()
    return worker
  }

  constructor(binary: string, folder: string, port: number) {
    this.url = `http://127.0.0.1:${port}/`
    this.#folder = folder
    this.#process = spawn(binary, ['serve', 'config.capnp'], { cwd: folder })
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

  async #isReady(): Promise<void> {
    for (;;) {
      if (this.#process.exitCode !== null) throw new Error(`workerd ended: ${this.#errors}`)
      const isThere = await fetch(this.url).then(
        () => true,
        () => false,
      )
      if (isThere) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
