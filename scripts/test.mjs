// Everything `npm test` promises, from a clone with nothing installed: install, type-check, lint, tests, package check.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { prepareBrowser } from './browser.mjs'
import { bin, installIfMissing, run, runBeside } from './run.mjs'

installIfMissing()
prepareBrowser()

const cache = resolve('node_modules/.cache/statewire')
const packed = `${cache}/packed`
mkdirSync(packed, { recursive: true })

// Programs that are killed by a test leave their temporary files behind: all of them are in one folder, which goes at the end.
const temporary = mkdtempSync(join(tmpdir(), 'statewire-test-'))
// As open as the folder that it replaces: Postgres does not run as root.
chmodSync(temporary, 0o1777)
for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = temporary
process.on('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }))

/** Checks types; files that have not changed since the last check are not checked again. */
const checkTypes = (title, name, ...project) =>
  runBeside(
    title,
    bin('tsc'),
    ...['--noEmit', '--incremental', '--tsBuildInfoFile', `${cache}/${name}.tsbuildinfo`, ...project],
  )

const check = async () => {
  await runBeside('lint', bin('biome'), 'check', '.')
  await checkTypes('types', 'types')
  await checkTypes('types of the inspector page', 'page', '-p', 'tsconfig.page.json')
  await checkTypes('types of a page of the tests', 'ui', '-p', 'test/ui/page')
  await checkTypes('types of a page with the hook', 'react', '-p', 'test/react/page')
}

/** Packs the project, which builds it. `test/package` installs what is packed here. */
const pack = async () => {
  mkdirSync('dist', { recursive: true })
  writeFileSync('dist/leftover.js', '')
  const args = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', packed]
  const listing = await runBeside('build', 'npm', ...args)
  writeFileSync(`${packed}/listing.json`, listing)
  const [{ filename }] = JSON.parse(listing)
  await runBeside('package', bin('publint'), 'run', `${packed}/${filename}`, '--strict')
  await runBeside('package types', bin('attw'), `${packed}/${filename}`, '--profile', 'node16')
}

console.log('\n— types, lint, build and package')
await Promise.all([check(), pack()])
process.env.STATEWIRE_PACKED = packed
run('tests', bin('vitest'), 'run', ...process.argv.slice(2))
