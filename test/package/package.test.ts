/** What is published works in a project that has nothing but the published package. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeBlocks, isScript } from '../docs/codeBlocks.ts'
import { pageProgram, pagePrograms } from '../docs/pageProgram.ts'
import { fromRegistry } from '../fromRegistry.ts'
import { oldest, range } from '../xstate/xstateRange.ts'
import { installInto, type Manager } from './consumer.ts'
import { kinds, problemsIn, resolutions, runIn } from './consumerPage.ts'
import { complaintsOf } from './embeddingApp.ts'
import { type Packed, packProject } from './freshClone.ts'

const blocks = codeBlocks('README.md').filter(isScript)
const programs = pagePrograms('README.md', blocks)

/** The last file with a block that must be found out: a check that finds nothing proves nothing. */
const lastFile = blocks.slice(blocks.findLastIndex(({ file }) => file !== undefined))
const flawed = pageProgram('README.md', [
  ...lastFile,
  ...codeBlocks('flaw', '```ts\nawait agent.send(1)\n```'),
])
let packed: Packed

beforeAll(async () => {
  packed = await packProject()
}, 600_000)
afterAll(() => packed?.remove())

const values = readdirSync('providers/values').map((file) => file.replace('.ts', ''))

/** Every file that package.json leads to; a star is each provider that is a value. */
const filesIn = (entry: unknown): string[] =>
  typeof entry === 'string'
    ? (entry.includes('*') ? values : ['']).map((name) => entry.replace('./', '').replace('*', name))
    : Object.values((entry ?? {}) as Record<string, unknown>).flatMap(filesIn)

describe('a clone that is packed', () => {
  test('brings everything that package.json leads to, and what is loaded from beside the code', () => {
    const { exports, bin, main, module, types } = JSON.parse(readFileSync('package.json', 'utf8'))
    const guides = ['SKILL.md', 'llms.txt', 'docs/README.md', 'docs/tools.md', 'docs/api/README.md']
    const pages = [
      'dist/page/index.html',
      'dist/page/drawing.js',
      'dist/page/markdown.js',
      'dist/elk.bundled.cjs',
    ]
    expect(packed.files).toEqual(
      expect.arrayContaining([...filesIn({ exports, bin, main, module, types }), ...pages, ...guides]),
    )
  })

  test('brings nothing else: no sources, no tests, nothing of an earlier build', () => {
    const known = /^(dist\/.+|docs\/.+\.md|examples\/.+|package\.json|LICENSE|llms\.txt|[A-Z-]+\.md)$/
    expect(packed.files.filter((file) => !known.test(file))).toEqual([])
    expect(packed.files).not.toContain('dist/leftover.js')
  })
})

test.each(['package-lock.json', 'site/package-lock.json'])('%s names no registry', (lock) => {
  expect(readFileSync(lock, 'utf8')).not.toContain('"resolved"')
})

const isNoRegistry = async (): Promise<string | undefined> => {
  const asked = ['view', `xstate@${oldest}`, 'version', '--fetch-retries=0', '--fetch-timeout=10000']
  return promisify(execFile)('npm', asked, { timeout: 60_000 }).then(
    () => undefined,
    () => 'The registry does not answer: the package is not installed into other projects.',
  )
}
const noRegistry = await isNoRegistry()
if (noRegistry) console.warn(noRegistry)

/** The oldest TypeScript that the declarations are for, and the newest that there is. */
const [oldestTypeScript, newestTypeScript] = ['5.4.5', '7.1.0-beta']

const projects: [title: string, manager: 'npm' | 'pnpm', xstate: string, typescript: string][] = [
  ['npm and the oldest XState', 'npm', oldest, oldestTypeScript],
  ['npm and the newest XState', 'npm', range, newestTypeScript],
  ['pnpm and the newest XState', 'pnpm', range, oldestTypeScript],
]

const managerOf = async (name: 'npm' | 'pnpm'): Promise<Manager> => {
  if (name === 'npm') return 'npm'
  // The last major that is JavaScript, and runs on any Node.
  const found = await fromRegistry('pnpm', '10')
  if ('problem' in found) throw new Error(found.problem)
  return { pnpm: found.folder }
}

describe.skipIf(noRegistry)('an empty project', () => {
  describe.each(projects)('with %s', (_, manager, xstate, typescript) => {
    let folder: string

    beforeAll(async () => {
      folder = await installInto(await managerOf(manager), packed.tarball, xstate)
    }, 600_000)
    afterAll(() => rm(folder, { recursive: true, force: true }))

    test('has one XState', () => {
      const here = createRequire(join(folder, 'page.cjs'))
      const there = createRequire(here.resolve('statewire'))
      expect(there.resolve('xstate')).toBe(here.resolve('xstate'))
      if (xstate === oldest) expect(here('xstate/package.json').version).toBe(oldest)
    })

    test('has declarations without Uint8Array<…>, which TypeScript 5.4 does not know, also beside packages it may not have', () => {
      const dist = join(folder, 'node_modules/statewire/dist')
      const declarations = readdirSync(dist).filter((file) => file.endsWith('.d.ts'))
      expect(declarations.length).toBeGreaterThan(10)
      const isNewer = (file: string) => /\bUint8Array</.test(readFileSync(join(dist, file), 'utf8'))
      expect(declarations.filter(isNewer)).toEqual([])
    })

    test(`compiles an app with agents inside with TypeScript ${typescript}`, async () => {
      expect(await complaintsOf(typescript, folder)).toBe('')
    }, 600_000)

    test.each(Object.entries(resolutions))(
      'compiles README, actors of its own XState included, with %s resolution and without leniency',
      async (_, resolution) => {
        expect(flawed.code).toContain('createActor(agent.machine')
        const found = await problemsIn(folder, flawed, resolution)
        expect(found).toEqual(
          resolution.kinds.map(() => expect.stringContaining("Argument of type 'number'")),
        )
      },
      600_000,
    )

    test.each(Object.keys(kinds))(
      'runs README as .%s',
      async (kind) => {
        for (const program of programs)
          expect(await runIn(folder, program, kind as keyof typeof kinds)).toBeUndefined()
      },
      600_000,
    )
  })
})
