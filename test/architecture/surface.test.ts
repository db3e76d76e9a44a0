/** Every exported name is imported somewhere: one that no file imports is one more to read, and to keep. */
import { expect, it } from 'vitest'
import { filesIn } from './sourceFiles.ts'

const sources = filesIn(['src', 'machines', 'providers'], /\.ts$/)
const users = filesIn(
  ['src', 'machines', 'providers', 'test', 'scripts', 'examples', 'bench'],
  /\.(ts|tsx|mts|mjs|js)$/,
)

type Words = ReadonlyMap<string, ReadonlySet<string>>

const wordsOf = (files: readonly { path: string; text: string }[]): Words =>
  new Map(files.map(({ path, text }) => [path, new Set(text.match(/\w+/g))]))

const exported = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm

/** The names of a file that no other file has. */
const unused = (path: string, text: string, words: Words): string[] =>
  [...text.matchAll(exported)]
    .map(([, name = '']) => name)
    .filter((name) => ![...words].some(([other, each]) => other !== path && each.has(name)))

it('is imported by another file, or is not exported', () => {
  const words = wordsOf(users)
  const found = sources.flatMap(({ path, text }) =>
    unused(path, text, words).map((name) => `${path}: ${name}`),
  )
  expect(found).toEqual([])
})

it('is noticed if it is exported and no other file has it', () => {
  const files = [
    { path: 'src/a.ts', text: 'export const used = 1\nexport type Unused = string\n' },
    { path: 'src/b.ts', text: "import { used } from './a.ts'\n" },
  ]
  expect(unused('src/a.ts', files[0]?.text ?? '', wordsOf(files))).toEqual(['Unused'])
})

/** The names that an entry lists, and those of the entries that it passes on. */
const namesOf = (entry: string): string[] =>
  [
    ...(sources.find(({ path }) => path === entry)?.text ?? '').matchAll(/^export (?:type )?\{([^}]*)\}/gm),
  ].flatMap(([, list = '']) => list.split(',').flatMap((name) => name.replace('type ', '').trim() || []))

// Each of them has to be learned, and kept.
it.each([
  ['src/core/index.ts', 120],
  ['providers/index.ts', 60],
])('%s has at most %i names', (entry, most) => {
  const names = namesOf(entry)
  expect(names).toContain(entry.startsWith('src') ? 'Agent' : 'defineProvider')
  expect(names.length).toBeLessThanOrEqual(most)
})
