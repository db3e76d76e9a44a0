/** The words of the project are those of the field: a reader who knows XState needs no dictionary. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { plainWords, wordTable } from './plainWords.ts'
import { filesIn, lineAt } from './sourceFiles.ts'

const folders = ['README.md', 'SECURITY.md', 'docs', 'src', 'machines', 'providers']
const others = ['test', 'examples', 'scripts', 'bench']

/** Generated, recorded or measured text, and the lists of the words themselves. */
const isExempt = (place: string): boolean =>
  /^docs\/api\/|^test\/architecture\/|^test\/recordings\/|^test\/stored\/|^bench\/RESULTS/.test(place) ||
  isStoredName(place)

/** Columns of databases and states of charts that stored runs name: other words would need a migration. */
const isStoredName = (place: string): boolean =>
  /^(src|test)\/(durable|dbos)\/.*"(life|head|told|leg)"|"Telling"/.test(place)

/** Sentences run over lines: joined here, without the marks of comments between them. */
const proseOf = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/^\s*(?:\*(?!\/)|\/\/)?\s*/, ''))
    .join('\n')

/** A pattern whose spaces may be line breaks. */
function spaced(source: string): string {
  return source.replace(/(?<!\[) /g, '\\s')
}

/** Any of the words: most files have none, and are searched only for this. */
const anyOf = (flags: string): RegExp => {
  const patterns = plainWords.flatMap(({ found }) => found).filter((pattern) => pattern.flags === flags)
  return new RegExp(patterns.map(({ source }) => spaced(source)).join('|'), flags)
}
const [anyWord, anyPhrase] = [anyOf(''), anyOf('i')]

const found = (path: string, text: string): string[] => {
  const prose = proseOf(text)
  if (!anyWord.test(prose) && !anyPhrase.test(prose)) return []
  return plainWords
    .filter(({ within }) => within === undefined || within.test(path))
    .flatMap(({ found: patterns, write }) =>
      patterns.flatMap((pattern) =>
        [...prose.matchAll(new RegExp(spaced(pattern.source), `${pattern.flags}g`))].map(
          ({ 0: word, index }) => `${path}:${lineAt(prose, index)}: "${word.replace('\n', ' ')}" → ${write}`,
        ),
      ),
    )
}

it('are plain', () => {
  const files = filesIn([...folders, ...others], /\.(md|ts|tsx|js|mjs|cjs|html|css)$/)
  expect(files.length).toBeGreaterThan(900)
  const named = files.map(({ path }) =>
    found('', path.replace(/\.[^/]*$/, '')).map((each) => `${path}${each}`),
  )
  const written = files.map(({ path, text }) => found(path, text))
  expect([...named, ...written].flat().filter((each) => !isExempt(each))).toEqual([])
})

it('are found in sentences over two lines and inside of names', () => {
  expect(found('a.ts', ' * The run is put\n * away.')).toEqual(['a.ts:1: "is put away" → stored, paused'])
  expect(found('a.ts', 'const isTold = tellEnd()')).toHaveLength(2)
  expect(found('a.ts', 'standard headers of a stand-alone life cycle are alive, and live')).toEqual([])
})

it('are listed for contributors', () => {
  expect(readFileSync('CONTRIBUTING.md', 'utf8')).toContain(wordTable().join('\n'))
})
