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

const tableOf = ({ wire, habits, peers: names, results }: Comparison, verdicts: Verdicts): string =>
  [
    row([wire, 'statewire', ...names.map((name) => peers[name].name)]),
    row(['---', ...Array(names.length + 1).fill(':---')]),
    ...habits.map((habit) =>
      row([habit.habit, ownCell(habit, verdicts.get(habit)), ...(results[habit.scenario] ?? [])]),
    ),
  ].join('\n')

/** The text between the marks of the README. */
export const conformanceText = (comparisons: readonly Comparison[], verdicts: Verdicts): string =>
  [
    beginMark,
    ...comparisons.map((comparison) => `${tableOf(comparison, verdicts)}\n`),
    `Versions: ${Object.values(peers)
      .map(({ name, version }) => `${name} (${version})`)
      .join(', ')}.`,
    endMark,
  ].join('\n')

/** The README with this text between its marks. */
export const withConformance = (readme: string, text: string): string => {
  const begin = readme.indexOf(beginMark)
  const end = readme.indexOf(endMark)
  if (begin < 0 || end < begin) throw new Error(`The README needs ${beginMark} and ${endMark}.`)
  return readme.slice(0, begin) + text + readme.slice(end + endMark.length)
}
