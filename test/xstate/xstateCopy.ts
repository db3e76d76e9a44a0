import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'tsup'
import type { Report } from './battery.ts'

const root = join(import.meta.dirname, '../..')
const installed = join(root, 'node_modules/xstate')

/** A change of XState's text: what is looked for in its files, and what comes in its place. */
export type Edit = readonly [find: RegExp, replace: string]

/** A folder in which the battery finds an XState of our choice, and everything else where it always is. */
export class Workshop {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Builds the battery once, as one file that leaves every package we depend on to Node. */
  static async open(): Promise<Workshop> {
    const folder = await mkdtemp(join(tmpdir(), 'statewire-xstate-'))
    await build({
      entry: { battery: join(import.meta.dirname, 'battery.ts') },
      outDir: folder,
      format: 'esm',
      target: 'node20',
      config: false,
      silent: true,
      outExtension: () => ({ js: '.mjs' }),
    })
    return new Workshop(folder)
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }

  /** The report of the battery with the XState in a folder. */
  async play(xstate: string, name: string): Promise<Report> {
    const bench = join(this.#folder, name.replace(/\W+/g, '-'))
    await mkdir(join(bench, 'node_modules'), { recursive: true })
    await cp(join(this.#folder, 'battery.mjs'), join(bench, 'battery.mjs'))
    const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) {
      const link = join(bench, 'node_modules', dependency)
      await mkdir(dirname(link), { recursive: true })
      await symlink(dependency === 'xstate' ? xstate : join(root, 'node_modules', dependency), link)
    }
    try {
      const battery = join(bench, 'battery.mjs')
      const { stdout } = await promisify(execFile)(process.execPath, [battery], {
        maxBuffer: 2 ** 26,
        // One that never ends would outlive the test.
        timeout: 180_000,
        killSignal: 'SIGKILL',
      })
      return JSON.parse(stdout)
    } catch (thrown) {
      // A battery that does not even start is reported like one that fails.
      return { plain: undefined, insides: [], runs: {}, uncaught: [String(thrown)] }
    }
  }

  /** A copy of the installed XState with some of its text changed; it says how often each edit found its text. */
  async copy(name: string, edits: readonly Edit[]): Promise<{ folder: string; found: number[] }> {
    const folder = join(this.#folder, `copy-${name.replace(/\W+/g, '-')}`)
    await mkdir(join(folder, 'dist'), { recursive: true })
    const found = edits.map(() => 0)
    const files = (await readdir(join(installed, 'dist'))).filter(
      (file) => file.endsWith('.esm.js') && !file.includes('development'),
    )
    for (const file of files) {
      let text = await readFile(join(installed, 'dist', file), 'utf8')
      edits.forEach(([find, replace], index) => {
        found[index] = (found[index] ?? 0) + (text.match(find)?.length ?? 0)
        text = text.replace(find, replace)
      })
      await writeFile(join(folder, 'dist', file), text)
    }
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest(files)))
    return { folder, found }
  }
}

/** The same entries as XState's own, all of them from its ESM build: CommonJS is not copied. */
const manifest = (files: readonly string[]) => ({
  name: 'xstate',
  type: 'module',
  exports: Object.fromEntries(
    files
      .filter((file) => file.startsWith('xstate'))
      .map((file) => [
        file.replace(/^xstate-?(.*)\.esm\.js$/, (_, part) => (part ? `./${part}` : '.')),
        `./dist/${file}`,
      ]),
  ),
})
