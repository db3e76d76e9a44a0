/** Files import each other in one direction: a file that is read needs no file above it. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

const sources = ['src', 'machines', 'providers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file)),
)

type Imports = ReadonlyMap<string, readonly string[]>

const statement = /^(?:import|export)\s+([^'";]*?)\s*from\s*'(\.[^']+)'|^import\s*'(\.[^']+)'/gm

/** The files that are loaded with a file. Imports of types are left out: they are erased, and load nothing. */
const importsIn = (file: string, text: string): string[] =>
  [...text.matchAll(statement)]
    .filter(([, clause = '']) => !isOfTypes(clause))
    .map(([, , from, effect]) => relative(root, join(root, dirname(file), from ?? effect ?? '')))

const isOfTypes = (clause: string): boolean => {
  if (/^type\b/.test(clause)) return true
  const names = /^\{([^}]*)\}$/.exec(clause)?.[1]?.split(',') ?? []
  const given = names.map((name) => name.trim()).filter((name) => name !== '')
  return given.length > 0 && given.every((name) => name.startsWith('type '))
}

/** The first way from each file back to itself; each cycle once, as the way that begins with its first file by name. */
const cyclesIn = (imports: Imports): string[] => {
  const cycles = new Set<string>()
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]): void => {
    const start = way.indexOf(file)
    if (start !== -1) {
      cycles.add(rotated(way.slice(start)).join(' → '))
      return
    }
    if (done.has(file)) return
    for (const next of imports.get(file) ?? []) visit(next, [...way, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return [...cycles].toSorted()
}

const rotated = (cycle: readonly string[]): string[] => {
  const [first = ''] = cycle.toSorted()
  const at = cycle.indexOf(first)
  return [...cycle.slice(at), ...cycle.slice(0, at)]
}

it('has no cycle of imports in any folder', () => {
  const imports = new Map(
    sources.map((file) => [file, importsIn(file, readFileSync(join(root, file), 'utf8'))]),
  )
  expect(cyclesIn(imports)).toEqual([])
})

it('sees a cycle, also one that is closed by a re-export', () => {
  const files: Record<string, string> = {
    'src/a.ts': "import { b } from './b.ts'\n",
    'src/b.ts': "import 'xstate'\nexport * from './c.ts'\n",
    'src/c.ts': "import {\n  type A,\n  a,\n} from './a.ts'\nimport type { D } from './d.ts'\n",
    'src/d.ts': "import './c.ts'\nimport { type A } from './a.ts'\n",
  }
  const imports = new Map(Object.entries(files).map(([file, text]) => [file, importsIn(file, text)]))
  expect(cyclesIn(imports)).toEqual(['src/a.ts → src/b.ts → src/c.ts'])
})
