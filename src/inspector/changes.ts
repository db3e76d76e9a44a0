import { brief, entriesOf, isPlain } from './readable.ts'
import type { Change } from './wire.ts'

const mostChanges = 12
const mostInOne = 3
const mostLookedAt = 200
const mostEntries = 2_000
const deepest = 4

type Difference = { path: string[]; from: unknown; to: unknown }

/**
 * What became different between two contexts, path by path. Branches that are the same object are not looked into, so
 * data that is never mutated costs only what changed.
 */
export const changesBetween = (before: unknown, after: unknown, secrets: readonly string[]): Change[] => {
  const found: Difference[] = []
  compare([], before, after, found)
  const changes = together(found).map((differences) => changeOf(differences, secrets))
  const more = changes.length - mostChanges
  return more > 0 ? [...changes.slice(0, mostChanges), { path: '…', after: `and ${more} more` }] : changes
}

const compare = (path: string[], from: unknown, to: unknown, found: Difference[]): void => {
  if (Object.is(from, to) || found.length >= mostLookedAt) return
  const old = path.length < deepest ? branchesOf(from) : null
  const fresh = old && branchesOf(to)
  if (old && fresh && Array.isArray(from) === Array.isArray(to)) {
    for (const key of new Set([...old.keys(), ...fresh.keys()])) {
      compare([...path, key], old.get(key), fresh.get(key), found)
    }
  } else found.push({ path, from, to })
}

/** What a value is made of; null for one that cannot be taken apart, or does not want to be. */
const branchesOf = (value: unknown): Map<string, unknown> | null => {
  try {
    return Array.isArray(value) || isPlain(value) ? new Map(entriesOf(value, mostEntries)) : null
  } catch {
    return null
  }
}

/** One object at several places is one change, and so are many changes inside one part. */
const together = (found: readonly Difference[]): Difference[][] => {
  const groups = new Map<unknown, Difference[]>()
  const sizes = new Map<string, number>()
  for (const { path } of found) sizes.set(path[0] ?? '', (sizes.get(path[0] ?? '') ?? 0) + 1)
  for (const difference of found) {
    const [top = ''] = difference.path
    const isOne = typeof difference.to === 'object' && difference.to !== null
    const key = (sizes.get(top) ?? 0) > mostInOne ? top : isOne ? difference.to : difference
    groups.set(key, [...(groups.get(key) ?? []), difference])
  }
  return [...groups.values()]
}

const changeOf = (differences: readonly Difference[], secrets: readonly string[]): Change => {
  const [first, second] = differences
  if (!first) return { path: '' }
  if (second && first.to !== second.to) {
    const parts = new Set(differences.map(({ path }) => path[1] ?? ''))
    return {
      path: first.path[0] ?? '',
      after: brief([...parts], secrets)
        .slice(1, -1)
        .replaceAll('"', ''),
    }
  }
  const path = differences.map((each) => written(each.path)).join(', ')
  const { from, to } = first
  if (typeof from === 'string' && typeof to === 'string' && from.length + to.length > 80) {
    const grown = to.length - from.length
    return { path, after: `${grown >= 0 ? '+' : '−'}${Math.abs(grown)} characters` }
  }
  return {
    path,
    ...(from !== undefined && { before: told(from, secrets) }),
    ...(to !== undefined && { after: told(to, secrets) }),
  }
}

const written = (path: readonly string[]): string =>
  path.reduce(
    (text, key) => (/^\d+$/.test(key) ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  )

/** A number that can only be a moment of these decades is told as the time of day. */
const told = (value: unknown, secrets: readonly string[]): string =>
  typeof value === 'number' && value > 1e12 && value < 4e12
    ? timeOfDay(new Date(value))
    : brief(value, secrets)

const timeOfDay = (date: Date): string =>
  `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`
