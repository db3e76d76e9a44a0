import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { anthropicHabits, chatHabits, type Habit } from './habits.ts'
import { anthropicPeers, anthropicResults, chatPeers, chatResults } from './peers.ts'
import { type Comparison, conformanceText, withConformance } from './table.ts'

// Every habit of the README's conformance tables is played over a socket, here and now. `npm run conformance` writes the
// tables; this test fails where they are not what was measured.

const comparisons: readonly Comparison[] = [
  { wire: 'Chat Completions wire', habits: chatHabits, peers: chatPeers, results: chatResults },
  { wire: 'Anthropic wire', habits: anthropicHabits, peers: anthropicPeers, results: anthropicResults },
]

const verdicts = new Map<Habit, string>()

describe.each(comparisons)('$wire', ({ habits, peers, results }) => {
  test.each(habits)('statewire stands $scenario', async (habit) => {
    verdicts.set(habit, 'fails')
    await habit.run()
    verdicts.set(habit, '')
  })

  test('has a result of every peer for every habit, and none besides', () => {
    expect(Object.keys(results)).toEqual(habits.map(({ scenario }) => scenario))
    for (const cells of Object.values(results)) expect(cells).toHaveLength(peers.length)
  })
})

test('the README tells what was measured in this run', () => {
  const readme = readFileSync('README.md', 'utf8')
  const fresh = withConformance(readme, conformanceText(comparisons, verdicts))
  if (process.env.MODE === 'update') writeFileSync('README.md', fresh)
  else expect(readme, 'run `npm run conformance`').toBe(fresh)
})
