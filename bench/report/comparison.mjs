import { ratio } from './table.mjs'

const cell = (text) => String(text).replaceAll('|', '\\|')
export const row = (cells) => `| ${cells.map(cell).join(' | ')} |`

/** What is measured of everyone: its id, and what a reader calls it. */
const measures = [
  ['chunk/bulk/openai-chat', 'a chunk, bulk'],
  ['chunk/paced/openai-chat', 'a chunk, paced'],
  ['request/openai-chat', 'a short request'],
  ['tools/openai-chat', 'a tool round, 4 calls'],
  ['streams/cpu', '200 streams at once'],
]

/** Ratios to the floor: a line for each contender, a column for each measure. */
export const comparison = (results, versions) => {
  const known = measures.filter(([id]) => results.some((result) => result.id === id))
  const find = (name, id) =>
    results.find((result) => result.id === id)?.contenders.find(({ contender }) => contender === name)
  const text = (one) => (one?.failed ? 'failed' : ratio(one?.ratio))
  const names = ['statewire', 'reader', ...Object.keys(versions)]
  return [
    row(['', ...known.map(([, title]) => title)]),
    row(['---', ...known.map(() => '---:')]),
    ...names
      .filter((name) => known.some(([id]) => find(name, id)))
      .map((name) =>
        row([
          versions[name] ? `${name} ${versions[name]}` : name === 'statewire' ? '**statewire**' : name,
          ...known.map(([id]) => text(find(name, id))),
        ]),
      ),
  ]
}
