/** A file is a whole thought: not a crumb that belongs to its only user, and not an attic. */
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { filesIn } from './sourceFiles.ts'

const longest = 350
const crumb = 40
const leastMedian = 100

/** Small files with one user that are right as they are, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'src/model/cosineSimilarity.ts': 'a public function that is beside the models, used by programs only',
  'src/visualize/toSvg.ts': 'loads the layouter, which the bundle of the page must not contain',
}

const files = filesIn(['src', 'machines', 'providers'], /\.(ts|tsx|js|mjs)$/)
const lines = new Map(files.map(({ path, text }) => [path, text.split('\n').length - 1]))

const importers = new Map<string, Set<string>>()
for (const { path, text } of files) {
  for (const [, imported = ''] of text.matchAll(/(?:from|import|import\()\s*['"](\.[^'"]+)['"]/g)) {
    const target = join(dirname(path), imported)
    importers.set(target, (importers.get(target) ?? new Set()).add(path))
  }
}

it('is no longer than a reader takes in at once', () => {
  const attics = [...lines].filter(([, count]) => count > longest)
  expect(attics.map(([path, count]) => `${path}: ${count} lines`)).toEqual([])
})

it('is part of its only user if it is small', () => {
  const crumbs = [...lines].flatMap(([path, count]) => {
    const [user, ...others] = importers.get(path) ?? []
    const isCrumb = user !== undefined && others.length === 0 && count <= crumb
    const isEntry = path.endsWith('/index.ts') || path.startsWith('providers/values/')
    const isKept = isEntry || path in exceptions
    return isCrumb && !isKept ? [`${path}, ${count} lines, is only used by ${user}`] : []
  })
  expect(crumbs).toEqual([])
})

it('has a hundred lines or more, half of the time', () => {
  const counts = [...lines.values()].toSorted((a, b) => a - b)
  expect(counts[Math.floor(counts.length / 2)]).toBeGreaterThanOrEqual(leastMedian)
})

it('is only excepted where that is still needed', () => {
  const isUsedOnce = (path: string) => importers.get(path)?.size === 1 && (lines.get(path) ?? 0) <= crumb
  expect(Object.keys(exceptions).filter((path) => !isUsedOnce(path))).toEqual([])
})
