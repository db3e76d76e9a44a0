// Writes what is generated in the documents: the API reference, and the tables of providers, speed, tests and XState.
// With --check nothing is written: it fails when one of them is not up to date, or when a public name has no description.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { comparison } from '../bench/report/comparison.mjs'
import { listProviders } from '../dist/index.js'
import { referencePages } from './reference/pages.mjs'
import { kindTable, mutationTable } from './strength.mjs'
import { xstateTable } from './xstateInUse.mjs'

const isCheck = process.argv.includes('--check')
const reference = 'docs/api'
const problems = []

const { files, problems: silent } = referencePages()
problems.push(...silent)

const writeReference = () => {
  rmSync(reference, { recursive: true, force: true })
  mkdirSync(reference)
  for (const [name, text] of files) writeFileSync(join(reference, name), text)
}

const checkReference = () => {
  const stored = readdirSync(reference, { recursive: true })
  for (const name of new Set([...files.keys(), ...stored])) {
    const text = stored.includes(name) ? readFileSync(join(reference, name), 'utf8') : undefined
    if (text !== files.get(name)) problems.push(`${reference}/${name} is stale: npm run docs.`)
  }
}

const columns = [
  ['tools', 'tools'],
  ['parallelTools', 'parallel'],
  ['nativeSchema', 'schema'],
  ['thinking', 'thinking'],
  ['images', 'images'],
  ['pdf', 'PDF'],
  ['audio', 'audio'],
  ['embeddings', 'embeddings'],
]

const row = (cells) => `| ${cells.join(' | ')} |`

const providerTable = () => [
  row(['provider', 'key', 'default model', ...columns.map(([, title]) => title)]),
  row(['---', '---', '---', ...columns.map(() => ':-:')]),
  ...listProviders().map(({ name, aliases, keyVariable, defaultModel, capabilities }) =>
    row([
      [name, ...aliases].map((each) => `\`${each}\``).join(', '),
      keyVariable ? `\`${keyVariable}\`` : '–',
      defaultModel ? `\`${defaultModel}\`` : '–',
      ...columns.map(([capability]) => (capabilities.includes(capability) ? '✓' : '')),
    ]),
  ),
]

const speedTable = () => {
  const { results, machine } = JSON.parse(readFileSync('bench/results.json', 'utf8'))
  return comparison(results, machine.peers)
}

const withBlock = (text, name, lines) => {
  const block = new RegExp(`(<!-- ${name}:begin -->\\n)[\\s\\S]*?(<!-- ${name}:end -->)`)
  if (!block.test(text)) throw new Error(`There is no place for the table of ${name}.`)
  return text.replace(block, (_, begin, end) => `${begin}${lines.join('\n')}\n${end}`)
}

const { lines: kinds, missing } = kindTable()
problems.push(...missing)

const tables = [
  ['docs/providers.md', 'providers', providerTable()],
  ['docs/performance.md', 'speed', speedTable()],
  ['docs/testing-strength.md', 'kinds', kinds],
  ['docs/testing-strength.md', 'mutants', mutationTable()],
  ['docs/testing-strength.md', 'xstate', xstateTable()],
]
for (const [path, name, lines] of tables) {
  const page = readFileSync(path, 'utf8')
  const written = withBlock(page, name, lines)
  if (!isCheck) writeFileSync(path, written)
  else if (written !== page) problems.push(`The table in ${path} is stale: npm run docs.`)
}
if (isCheck) checkReference()
else writeReference()
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
