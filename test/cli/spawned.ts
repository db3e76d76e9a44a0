import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import { startSimulator } from '../../src/simulator/index.ts'

export const binary = resolve('dist/cli.js')

export type Ended = { code: number | null; stdout: string; stderr: string }

/** `binary`: another copy of the command line. */
export type SpawnOptions = { input?: string; env?: Record<string, string>; cwd?: string; binary?: string }

/** No key, no local Ollama, no colours, no history: whatever the machine has that the tests run on. */
export const bareEnvironment = (): Record<string, string> => {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, OLLAMA_HOST: '127.0.0.1:1', STATEWIRE_HISTORY: '' }
}

/** Starts the real command line, as it was built. */
export const start = (
  args: readonly string[],
  { env, cwd, input, binary: program = binary }: SpawnOptions = {},
): ChildProcessWithoutNullStreams => {
  if (!existsSync(binary)) throw new Error('dist/cli.js is missing: npm run build makes it.')
  const child = spawn(process.execPath, [program, ...args], { env: { ...bareEnvironment(), ...env }, cwd })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  child.stdin.on('error', () => {})
  if (input !== undefined) child.stdin.end(input)
  return child
}

/** What a process wrote, and how it ended. */
export const ended = (child: ChildProcessWithoutNullStreams): Promise<Ended> =>
  new Promise((done) => {
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.on('close', (code) => done({ code, stdout, stderr }))
  })

export const statewire = (args: readonly string[], options: SpawnOptions = {}): Promise<Ended> =>
  ended(start(args, { input: '', ...options }))

/** Waits until the process has written something that fits. */
export const seen = (stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> =>
  new Promise((found, failed) => {
    let text = ''
    const read = (piece: Buffer | string) => {
      text += piece.toString()
      if (!pattern.test(text)) return
      stream.off('data', read)
      found(text)
    }
    stream.on('data', read)
    stream.on('close', () => failed(new Error(`It ended without ${pattern}: ${text}`)))
  })

/** Options that make a command ask a simulator of this test; `delayMs` slows its words down. */
export const askSimulator = async (delayMs = 0): Promise<string[]> => {
  const { baseUrl, close } = await startSimulator({ delayMs })
  onTestFinished(close)
  return ['--model', 'openai:simulator', '--base-url', baseUrl]
}

export const folder = async (): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'statewire-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
