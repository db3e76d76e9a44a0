import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { runProgram } from '../runScript.ts'

/** The packages that an app has beside ours and XState. */
const packages = ['zod', 'undici', 'eventsource-parser', '@cfworker/json-schema', '@types/node']

// The types of the alpha itself have errors, so those of libraries are not checked.
const compilerOptions = {
  strict: true,
  skipLibCheck: true,
  module: 'NodeNext',
  target: 'ES2022',
  outDir: 'out',
  types: ['node'],
}

/** An app in a folder of its own, with the built package and one XState, from the folder that it is in. */
export class AppFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'statewire-app-'))

  constructor(xstate: string, files: Record<string, string>) {
    if (!existsSync('dist/xstate6.js')) throw new Error('There is no dist: run `npm run build` first.')
    const modules = join(this.path, 'node_modules')
    const own = join(modules, 'statewire')
    mkdirSync(own, { recursive: true })
    cpSync('package.json', join(own, 'package.json'))
    cpSync('dist', join(own, 'dist'), { recursive: true })
    const links = packages.map((name) => [name, resolve('node_modules', name)] as const)
    for (const [name, source] of [['xstate', resolve(xstate)] as const, ...links]) {
      mkdirSync(dirname(join(modules, name)), { recursive: true })
      symlinkSync(source, join(modules, name))
    }
    const written = {
      'package.json': JSON.stringify({ type: 'module' }),
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['app.ts'] }),
      ...files,
    }
    for (const [name, text] of Object.entries(written)) writeFileSync(join(this.path, name), text)
  }

  /** The output of the compiler: nothing if all is well. */
  async compile(): Promise<string> {
    const tsc = resolve('node_modules/typescript/bin/tsc')
    return (await runProgram(process.execPath, [tsc, '-p', this.path])).printed
  }

  /** The output of a file of the app. */
  async run(file: string): Promise<string> {
    return (await runProgram(process.execPath, [join(this.path, file)])).printed
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
