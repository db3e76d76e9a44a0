// Builds the documentation as a site that works offline, with search: npm run site. `npm run site -- --serve` shows it while
// it is written.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { installIfMissing, run } from '../scripts/run.mjs'

const here = import.meta.dirname
process.chdir(dirname(here))
installIfMissing()
if (!existsSync('dist/index.js')) run('build', 'npm', 'run', '--silent', 'build')
if (!existsSync(join(here, 'node_modules/vitepress')))
  // Not `npm ci`: see `installIfMissing`.
  run('install of the generator', 'npm', 'install', '--no-save', '--prefix', here)

console.log('\n— pages')
const { writePages } = await import('./pages.mjs')
await writePages(join(here, 'pages'))

const command = process.argv.includes('--serve') ? 'dev' : 'build'
const { status } = spawnSync(join(here, 'node_modules/.bin/vitepress'), [command, here], { stdio: 'inherit' })
if (status === 0 && command === 'build')
  console.log('\nThe site is in site/dist: open it with any static server.')
process.exit(status ?? 1)
