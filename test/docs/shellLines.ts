import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Printed, runProgram } from '../runScript.ts'
import type { CodeBlock } from './codeBlocks.ts'

type Manifest = {
  name: string
  bin?: Record<string, string>
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'))

/** What is typed in a block, line by line, without comments. */
export const linesOf = ({ code }: CodeBlock): string[] =>
  code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')

/** The single commands of a block. */
export const commandsOf = (block: CodeBlock): string[] =>
  linesOf(block)
    .flatMap((line) => line.split(/\s(?:&&|\|)\s/))
    .map((command) => command.replace(/^(?:[A-Z_]+=\S+\s+)+/, '').trim())

/** Runs a line with `npx statewire` in it, in a folder of its own, where no key is set and the simulator answers. */
export const runLine = async (line: string): Promise<Printed> => {
  const cwd = mkdtempSync(join(tmpdir(), 'docs-'))
  const bin = resolve(manifest.bin?.statewire ?? '')
  writeFileSync(join(cwd, 'npx'), `#!/bin/sh\nshift\nexec "${process.execPath}" "${bin}" "$@"\n`, {
    mode: 0o755,
  })
  const env = { PATH: `${cwd}:${process.env.PATH}`, HOME: cwd, STATEWIRE_MODEL: 'simulator' }
  const printed = await runProgram('sh', ['-c', line], { cwd, env })
  rmSync(cwd, { recursive: true })
  return printed
}

/** What is wrong with a command of the documents; undefined for one that a user can type. */
export const commandProblem = (command: string): string | undefined => {
  const [program, ...args] = command.split(/\s+/)
  if (program === 'npm') return npmProblem(args)
  if (program === 'npx')
    return args[0] && manifest.bin?.[args[0]] ? undefined : `package.json has no bin ${args[0]}`
  if (program === 'node') return nodeProblem(args)
  return known.has(program ?? '') ? undefined : `no test checks what ${program} does`
}

/** Commands of the shell itself: that they exist is not ours to prove. */
const known = new Set(['cd', 'mkdir', 'export', 'echo', 'cat', 'git', 'curl'])

const npmProblem = ([action = '', ...args]: string[]): string | undefined => {
  if (action === 'init' || action === 'pkg') return undefined
  if (action === 'install') {
    const packages = new Set([
      manifest.name,
      ...Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }),
    ])
    const unknown = args.filter((arg) => !arg.startsWith('-') && !packages.has(arg))
    return unknown.length > 0 ? `${unknown.join(', ')} is no package that is used here` : undefined
  }
  const script = action === 'run' ? args[0] : action
  return script && manifest.scripts[script] ? undefined : `package.json has no script ${script}`
}

const nodeProblem = (args: string[]): string | undefined => {
  const script = args.find((arg) => !arg.startsWith('-'))
  // A file that the reader has just written lies in no folder of ours.
  if (!script?.includes('/')) return undefined
  return existsSync(script) ? undefined : `there is no ${script}`
}
