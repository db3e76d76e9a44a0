// Writes what is generated in the documents: the API reference, and the tables of providers and of speed in the README.
// With --check nothing is written: it fails when one of them is not up to date, or when a public name has no description.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Application, ReflectionKind } from 'typedoc'
import { comparison } from '../bench/report/comparison.mjs'
import { listProviders } from '../dist/index.js'

const isCheck = process.argv.includes('--check')
const reference = 'docs/api'
const problems = []

const generateReference = async (out) => {
  const app = await Application.bootstrapWithPlugins({ out, cleanOutputDir: true, logLevel: 'Warn' })
  const project = await app.convert()
  if (!project) throw new Error('The sources cannot be read.')
  app.validate(project)
  await app.generateOutputs(project)
  if (app.logger.hasWarnings()) problems.push('A link in a description leads nowhere: see above.')
  problems.push(...(project.children ?? []).flatMap(undescribed))
}

/** The public names below a module or a class that nothing is said about. */
const undescribed = (parent) =>
  (parent.children ?? [])
    .filter((each) => !each.isReference() && !each.inheritedFrom && each.kind !== ReflectionKind.Constructor)
    .flatMap((each) => [
      ...(isDescribed(each) || each.kind === ReflectionKind.Property
        ? []
        : [`${each.getFullName()} has no description.`]),
      ...(each.kind === ReflectionKind.Class ? undescribed(each) : []),
    ])

const isDescribed = ({ comment, signatures = [], getSignature, type }) =>
  [{ comment }, ...signatures, getSignature, ...(type?.declaration?.signatures ?? [])].some(
    (each) => each?.comment,
  )

/** Every file below a folder, with its content. */
const filesOf = (folder) =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length), readFileSync(path, 'utf8')]),
  )

const checkReference = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'statewire-api-'))
  await generateReference(folder)
  const [fresh, stored] = [filesOf(folder), filesOf(reference)]
  rmSync(folder, { recursive: true })
  for (const path of new Set([...fresh.keys(), ...stored.keys()])) {
    if (fresh.get(path) !== stored.get(path)) problems.push(`${reference}${path} is stale: npm run docs.`)
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

const withBlock = (text, name, lines) =>
  text.replace(
    new RegExp(`(<!-- ${name}:begin -->\\n)[\\s\\S]*?(<!-- ${name}:end -->)`),
    (_, begin, end) => `${begin}${lines.join('\n')}\n${end}`,
  )

const readme = readFileSync('README.md', 'utf8')
const written = withBlock(withBlock(readme, 'providers', providerTable()), 'speed', speedTable())
if (isCheck) {
  if (written !== readme) problems.push('A table in README.md is stale: npm run docs.')
  await checkReference()
} else {
  writeFileSync('README.md', written)
  await generateReference(reference)
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1
