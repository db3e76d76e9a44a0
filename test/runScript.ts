import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

export type Printed = { printed: string; code: number | null }

type ScriptOptions = { timeout?: number; input?: string; cwd?: string; env?: NodeJS.ProcessEnv }

/** Runs a script as a user would, and gives what it prints. Scripts import the package, so it must be built. */
export const runScript = (
  script: string,
  args: readonly string[] = [],
  options: ScriptOptions = {},
): Promise<Printed> => {
  if (!existsSync('dist/index.js')) throw new Error('There is no dist: run `npm run build` first.')
  return runProgram(process.execPath, [script, ...args], options)
}

/** Runs a program to its end, its stdout and stderr as one text. One that does not end in time is killed: its code is null. */
export const runProgram = (
  program: string,
  args: readonly string[],
  { timeout = 300_000, input = '', ...options }: ScriptOptions = {},
): Promise<Printed> => {
  const child = spawn(program, args, { ...options, stdio: 'pipe', timeout })
  let printed = ''
  const keep = (text: Buffer) => {
    printed += text
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ printed, code }))
  })
}
