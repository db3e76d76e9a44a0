import { ratio } from './table.mjs'

const cell = (text) => String(text).replaceAll('|', '\\|')
export const row = (cells) => `| ${cells.map(cell).join(' | ')} |`

/** The measures that all contenders have: their ids, and their titles for a reader. */
const measures = [
  ['chunk/bulk/openai-chat', 'a chunk, bulk'],
  ['chunk/paced/openai-chat', 'a chunk, paced'],
  ['request/openai-chat', 'a short request'],
  ['tools/openai-chat', 'a tool round, 4 calls'],
  ['streams/cpu', '200 streams at once'],
]

/** Ratios to the reader: a line for each contender, a column for each measure. */
export const comparison = (results, versions) => {
  const known = measures
    .map(([id, title]) => ({ title, result: results.find((result) => result.id === id) }))
    .filter(({ result }) => result !== undefined)
  const find = ({ contenders }, name) => contenders.find(({ contender }) => contender === name)
  const isJudged = ({ goal }) => goal?.to === 'reader'
  const text = (result, name) => {
    const one = find(result, name)
    if (one?.failed) return 'failed'
    const compared = quotient(one?.value, find(result, 'reader')?.value)
    // In words, so that the reader need not compare.
    return isJudged(result) && one?.isMet === false ? `${compared} (missed)` : compared
  }
  const line = (name, title) => row([title, ...known.map(({ result }) => text(result, name))])
  const goals = known.map(({ result }) => (isJudged(result) ? `≤ ${result.goal.ratio}×` : ''))
  const isMeasured = (name) => known.some(({ result }) => find(result, name))
  return [
    row(['', ...known.map(({ title }) => title)]),
    row(['---', ...known.map(() => '---:')]),
    line('statewire', '**statewire**'),
    ...(goals.some((goal) => goal !== '') ? [row(['its goal', ...goals])] : []),
    ...['reader', 'floor'].filter(isMeasured).map((name) => line(name, name)),
    ...Object.entries(versions)
      .filter(([name]) => isMeasured(name))
      .map(([name, version]) => line(name, `${name} ${version}`)),
  ]
}

const quotient = (value, other) => ratio(value !== undefined && other ? value / other : undefined)
