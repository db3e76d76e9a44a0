import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { anthropicHabits, chatHabits, type Habit } from './habits.ts'
import { anthropicPeers, anthropicResults, chatPeers, chatResults } from './peers.ts'
import { type Comparison, shortTable, wholeTables, withConformance } from './table.ts'

// Every habit of docs/conformance.md is played over a socket, here and now. `npm run conformance` writes the tables there
// and in the README; this test fails where they are not what was measured.

const chat: Comparison = {
  wire: 'Chat Completions wire',
  habits: chatHabits,
  peers: chatPeers,
  results: chatResults,
}
const comparisons: readonly Comparison[] = [
  chat,
  { wire: 'Anthropic wire', habits: anthropicHabits, peers: anthropicPeers, results: anthropicResults },
]

const verdicts = new Map<Habit, string>()

describe.each(comparisons)('$wire', ({ habits, peers, results }) => {
  test.each(habits)('statewire copes with $scenario', async (habit) => {
    verdicts.set(habit, 'fails')
    await habit.run()
    verdicts.set(habit, '')
  })

  test('has a result of every peer for every habit, and none besides', () => {
    expect(Object.keys(results)).toEqual(habits.map(({ scenario }) => scenario))
    for (const cells of Object.values(results)) expect(cells).toHaveLength(peers.length)
  })
})

test.each([
  ['docs/conformance.md', () => wholeTables(comparisons, verdicts)],
  ['README.md', () => shortTable(chat, verdicts)],
])('%s shows what was measured in this run', (path, text) => {
  const page = readFileSync(path, 'utf8')
  const fresh = withConformance(page, text())
  if (process.env.UPDATE_CONFORMANCE === '1') writeFileSync(path, fresh)
  else expect(page, 'run `npm run conformance`').toBe(fresh)
})
