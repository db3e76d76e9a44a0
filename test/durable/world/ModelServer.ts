import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { SeenResults } from './judgeCalls.ts'

/** The model's process; it is never killed before the end. */
export class ModelServer {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(process: ChildProcess, url: string) {
    this.#process = process
    this.url = url
  }

  static async start(script: string): Promise<ModelServer> {
    const child = fork(script)
    const [{ port }] = await once(child, 'message')
    return new ModelServer(child, `http://127.0.0.1:${port}`)
  }

  /** Reads the results of each call that models have seen. */
  async seenResults(): Promise<SeenResults> {
    const response = await fetch(`${this.url}/results`)
    const seen: Record<string, string[]> = JSON.parse(await response.text())
    return new Map(Object.entries(seen).map(([id, results]) => [id, new Set(results)]))
  }

  stop(): void {
    this.#process.disconnect()
  }
}
