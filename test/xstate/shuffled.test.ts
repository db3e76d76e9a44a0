/**
 * The engine rests on XState's published types and on nothing else: copies of XState that are different inside, but
 * behave alike, run every agent in exactly the same way.
 */
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Report } from './battery.ts'
import { everythingTogether, type Shuffle, shuffles } from './shuffles.ts'
import { Workshop } from './xstateCopy.ts'

type Played = Report & { found: readonly number[] }

const untouched = 'nothing was changed'
const changed: Record<string, Shuffle> = { ...shuffles, 'all of this is so at once': everythingTogether }
const all: Record<string, Shuffle> = { [untouched]: { edits: [], hidden: [] }, ...changed }
const played = new Map<string, Played>()

const reportOf = (name: string): Played => {
  const report = played.get(name)
  if (!report) throw new Error(`The battery was not played where ${name}.`)
  return report
}

beforeAll(async () => {
  const workshop = await Workshop.open()
  const names = Object.keys(all)
  const work = async () => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const { folder, found } = await workshop.copy(name, all[name]?.edits ?? [])
      played.set(name, { ...(await workshop.play(folder, name)), found })
    }
  }
  // Each copy has its own process: two at a time are as many as a small machine has cores.
  await Promise.all([work(), work()]).finally(() => workshop.close())
}, 360_000)

it('plays runs that end as they should', () => {
  const { plain, runs, uncaught } = reportOf(untouched)
  expect(uncaught).toEqual([])
  expect(JSON.stringify([plain, runs])).not.toMatch(/"threw"|"hangs"/)
  expect(Object.keys(runs).length).toBeGreaterThan(40)
})

describe.each(Object.entries(changed))('where %s', (name, { hidden }) => {
  it('XState is really another one', () => {
    const { found, insides } = reportOf(name)
    expect(found).not.toContain(0)
    expect(reportOf(untouched).insides).toEqual(expect.arrayContaining([...hidden]))
    expect(insides.filter((each) => hidden.includes(each))).toEqual([])
  })

  it('XState itself does what it always does', () => {
    expect(reportOf(name).plain).toEqual(reportOf(untouched).plain)
  })

  it('every run reports the same', () => {
    const { runs, uncaught } = reportOf(name)
    expect(uncaught).toEqual([])
    const expected = reportOf(untouched).runs
    const others = Object.keys(expected).filter((run) => !isDeepStrictEqual(runs[run], expected[run]))
    for (const run of others.slice(0, 1)) expect(runs[run], others.join('; ')).toEqual(expected[run])
  })
})
