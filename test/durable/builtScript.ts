import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { buildScripts } from '../buildScripts.ts'

/** Builds a script of this folder, and gives its path. */
export const builtScript = async (name: string): Promise<string> =>
  (await buildScripts(`durable-${name}`, { script: `test/durable/${name}.ts` })).script

/** A process of a script: what it prints, line by line, and its end. */
export class Script {
  readonly child: ChildProcess
  readonly ended: Promise<unknown[]>
  #printed = ''
  #errors = ''

  /** `limit`: a command of the shell before it becomes the process. */
  constructor(script: string, args: readonly string[], limit = '') {
    const command = [process.execPath, script, ...args]
    const [program = '', ...rest] =
      limit === '' ? command : ['sh', '-c', `${limit}; exec "$@"`, 'sh', ...command]
    this.child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.ended = once(this.child, 'close')
    this.child.stdout?.on('data', (piece) => {
      this.#printed += piece
    })
    this.child.stderr?.on('data', (piece) => {
      this.#errors += piece
    })
    onTestFinished(() => {
      this.child.kill('SIGKILL')
    })
  }

  get errors(): string {
    return this.#errors
  }

  get lines(): string[] {
    return this.#printed.split('\n').slice(0, -1)
  }

  /** The first line that begins with this word; fails if the process ends without one. */
  async line(word: string): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => line.startsWith(word))
      if (found !== undefined) return found
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        await this.ended
        const last = this.lines.find((line) => line.startsWith(word))
        if (last !== undefined) return last
        throw new Error(`The process ended without "${word}": ${this.#printed}${this.#errors}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}
