// A pseudo-terminal, made by util-linux's `script`.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import { bareEnvironment, binary } from './spawned.ts'

export const hasScript = /util-linux/.test(spawnSync('script', ['--version']).stdout?.toString() ?? '')
if (!hasScript) console.warn('The terminal tests are skipped: they need `script` of util-linux.')

/** The command line as a person has it before them. */
export class Terminal {
  readonly #child: ChildProcessWithoutNullStreams
  #text = ''
  #looked = 0
  readonly code: Promise<number | null>

  constructor(
    args: readonly string[],
    {
      cwd = process.cwd(),
      env = {},
      columns,
      piped,
    }: { cwd?: string; env?: Record<string, string>; columns?: number; piped?: string } = {},
  ) {
    const words = [process.execPath, binary, ...args].map((word) => `'${word}'`)
    // Without `exec` the shell in between would get Ctrl-C as well, and end with another code.
    const ownInput = piped === undefined ? '' : ` < '${piped}'`
    const command = `${columns === undefined ? '' : `stty cols ${columns}; `}exec ${words.join(' ')}${ownInput}`
    this.#child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd,
      env: { ...bareEnvironment(), TERM: 'xterm', SHELL: '/bin/sh', ...env },
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text) => {
      this.#text += text
    })
    this.code = new Promise((resolve) => this.#child.on('close', resolve))
    onTestFinished(() => {
      this.#child.kill('SIGKILL')
    })
  }

  get screen(): string {
    return this.#text
  }

  /** Waits for a text behind the one that was last waited for. */
  async sees(pattern: RegExp): Promise<void> {
    for (;;) {
      const found = pattern.exec(stripVTControlCharacters(this.#text).slice(this.#looked))
      if (found) {
        this.#looked += found.index + found[0].length
        return
      }
      await new Promise((resolve) => this.#child.stdout.once('data', resolve))
    }
  }

  types(keys: string): void {
    this.#child.stdin.write(keys)
  }

  /** Kills the command line itself: it gets no signal. */
  async kill(): Promise<void> {
    const { pid } = this.#child
    const [inside] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    process.kill(Number(inside), 'SIGKILL')
    await this.code
  }
}

export const ctrlC = '\u0003'
export const ctrlD = '\u0004'
export const ctrlU = '\u0015'
