import type { Habit } from './habits.ts'
import { type PeerName, type PeerResults, peers } from './peers.ts'

/** What came of a habit in this run: empty where everything held, else what did not. */
export type Verdicts = ReadonlyMap<Habit, string>

export type Comparison = {
  wire: string
  habits: readonly Habit[]
  peers: readonly PeerName[]
  results: PeerResults
}

export const beginMark = '<!-- conformance:begin -->'
export const endMark = '<!-- conformance:end -->'

const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const ownCell = ({ does = '✓' }: Habit, problem: string | undefined): string =>
  problem === '' ? does : `✗ ${problem ?? 'not run'}`

/** The rows of the README: habits that real servers have, and that break real clients. */
const fewScenarios = ['idx0_reuse', 'args_object', 'cut_args_tool_calls', 'no_blank_line', 'error_body']

const tableOf = ({ wire, habits, peers: names, results }: Comparison, verdicts: Verdicts): string =>
  [
    row([wire, 'statewire', ...names.map((name) => `${peers[name].name} ${peers[name].version}`)]),
    row(['---', ...Array(names.length + 1).fill(':---')]),
    ...habits.map((habit) =>
      row([habit.habit, ownCell(habit, verdicts.get(habit)), ...(results[habit.scenario] ?? [])]),
    ),
  ].join('\n')

/** Every habit, for the page that has them all. */
export const wholeTables = (comparisons: readonly Comparison[], verdicts: Verdicts): string =>
  comparisons.map((comparison) => tableOf(comparison, verdicts)).join('\n\n')

/** Five habits, for the README. */
export const shortTable = (comparison: Comparison, verdicts: Verdicts): string => {
  const habits = comparison.habits.filter(({ scenario }) => fewScenarios.includes(scenario))
  if (habits.length !== fewScenarios.length) throw new Error('A row of the README has no habit any more.')
  return tableOf({ ...comparison, habits }, verdicts)
}

/** A page with this text between its marks. */
export const withConformance = (page: string, text: string): string => {
  const begin = page.indexOf(beginMark)
  const end = page.indexOf(endMark)
  if (begin < 0 || end < begin) throw new Error(`The page needs ${beginMark} and ${endMark}.`)
  return `${page.slice(0, begin)}${beginMark}\n${text}\n${page.slice(end)}`
}
