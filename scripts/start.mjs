// What `npm start` promises, from a clone with nothing installed: an agent at work in the inspector, with no key and no network but
// the registry. It installs and builds only what that takes, apart from what the tests need, and only once.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pageFiles } from './pageFiles.mjs'

const home = resolve('node_modules/.start')
const manifest = JSON.parse(readFileSync('package.json', 'utf8'))

/** What is imported when an agent runs, what becomes part of the code when it is built, and the program that builds it. */
const needed = [
  ...Object.keys(manifest.dependencies),
  ...['xstate', '@xstate/graph', 'elkjs', 'fastest-levenshtein', 'streaming-markdown', 'uuid', 'esbuild'],
]

const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
const since = (began) => `${((performance.now() - began) / 1000).toFixed(1)} s`

/** Does a step that is only needed once, and says what it does while it does it. */
const step = (stamp, wanted, title, work) => {
  const file = join(home, stamp)
  if (read(file) === wanted) return
  const began = performance.now()
  process.stderr.write(`${title} … `)
  rmSync(file, { force: true })
  work()
  writeFileSync(file, wanted)
  process.stderr.write(`${since(began)}\n`)
}

const install = () => {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const { status, stderr, error } = spawnSync('npm', ['install', '--prefix', home, ...options], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  console.error(
    `\n${stderr || error?.message}\nThe packages could not be installed: is the npm registry reachable?`,
  )
  process.exit(1)
}

/** The files that are built, with the time and size of each: a change of any of them is another text. */
const sourcesIn = (path) => {
  const stat = statSync(path)
  if (!stat.isDirectory()) return [`${path} ${stat.mtimeMs} ${stat.size}`]
  return readdirSync(path).flatMap((name) => (name in pageFiles ? [] : sourcesIn(join(path, name))))
}

const build = () => {
  const { buildSync } = createRequire(join(home, 'package.json'))('esbuild')
  const options = { bundle: true, format: 'esm', logLevel: 'error', nodePaths: [join(home, 'node_modules')] }
  const outdir = join(home, 'dist')
  rmSync(outdir, { recursive: true, force: true })
  buildSync({
    ...options,
    ...{ entryPoints: { cli: 'src/cli/main.ts' }, outdir },
    ...{ platform: 'node', target: 'node20', splitting: true, packages: 'external' },
  })
  cpSync('src/inspector/page', join(outdir, 'page'), { recursive: true })
  for (const [name, page] of Object.entries(pageFiles))
    buildSync({ ...options, ...page, outfile: join(outdir, 'page', name), allowOverwrite: true })
}

mkdirSync(home, { recursive: true })
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const versions = Object.fromEntries(needed.map((name) => [name, packages[`node_modules/${name}`].version]))
const demo = JSON.stringify({ private: true, type: 'module', dependencies: versions }, null, 2)
step('installed', demo, `Installing the ${needed.length} packages that the demo needs, once`, () => {
  writeFileSync(join(home, 'package.json'), demo)
  install()
})
const sources = [
  'package.json',
  'src',
  'machines',
  'providers',
  'scripts/start.mjs',
  'scripts/pageFiles.mjs',
].flatMap(sourcesIn)
step('built', sources.join('\n'), 'Building', build)

// With a prompt, that is asked instead.
const asked = process.argv.slice(2)
const built = join(home, 'dist/cli.js')
process.argv.splice(1, process.argv.length, built, ...(asked.length > 0 ? ['inspect', ...asked] : ['demo']))
await import(built)
